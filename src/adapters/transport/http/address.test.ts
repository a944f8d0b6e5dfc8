import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type AddressClass, addressAllowed, classifyAddress } from "./address.ts";

const table: Readonly<Record<AddressClass, readonly string[]>> = {
  public: ["8.8.8.8", "1.1.1.1", "100.63.255.255", "100.128.0.0", "172.15.255.255", "172.32.0.0", "192.169.0.0"]
    .concat(["126.255.255.255", "128.0.0.0", "169.253.255.255", "223.255.255.255", "198.17.255.255", "198.20.0.0"])
    .concat(["1.0.0.0", "9.255.255.255", "11.0.0.0", "169.255.0.0", "192.0.1.0", "192.0.3.0", "192.88.98.255"])
    .concat(["192.88.100.0", "192.167.255.255", "198.51.99.255", "198.51.101.0", "203.0.112.255", "203.0.114.0"])
    .concat(["2001:db7:ffff::1", "2001:db9::1", "2001:ffff::1", "3ffe:ffff::1", "3fff:1000::1", "3fff:ffff::1"])
    .concat(["2606:4700::1111", "2a00:1450::1", "2001:4860:4860::8888", "2001:200::1", "2003::1", "3ffe::1"]),
  loopback: ["127.0.0.1", "127.255.255.255", "::1", "0:0:0:0:0:0:0:1"],
  private: [
    "10.0.0.1",
    "10.255.255.255",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "100.64.0.1",
    "100.127.255.255",
    "192.168.255.255",
  ].concat(["fc00::1", "fd12:3456::1", "fdff:ffff::1"]),
  link_local: ["169.254.169.254", "169.254.0.1", "169.254.255.255", "fe80::1", "febf::1"],
  never: ["0.0.0.0", "0.1.2.3", "192.0.0.8", "192.0.2.1", "192.88.99.1", "198.18.0.1", "198.51.100.1", "203.0.113.1"]
    .concat(["0.255.255.255", "192.0.0.255", "192.0.2.255", "192.88.99.255", "198.19.255.255", "198.51.100.255"])
    .concat(["203.0.113.255", "2001:1ff:ffff::1", "2001:db8:ffff::1", "2002:ffff::1", "3fff:fff:ffff::1"])
    .concat(["224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255"])
    .concat(["::", "::2", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::ffff:0:8.8.8.8", "64:ff9b::8.8.8.8"])
    .concat([
      "64:ff9b:1::1",
      "100::1",
      "2001::1",
      "2001:10::1",
      "2001:20::1",
      "2001:db8::1",
      "2002:7f00:1::",
      "2002:808:808::",
    ])
    .concat([
      "3fff::1",
      "5f00::1",
      "fec0::1",
      "ff02::1",
      "ff0e::1",
      "4000::1",
      "fe80::1%eth0",
      "1.2.3",
      "0x7f.1",
      "",
      "localhost",
    ]),
};

test("every special range is what the registries say it is", () => {
  for (const [kind, addresses] of Object.entries(table)) {
    for (const address of addresses) assert.equal(classifyAddress(address), kind, address);
  }
});

test("a public origin reaches public addresses alone", () => {
  for (const kind of Object.keys(table) as AddressClass[]) {
    assert.equal(addressAllowed(kind, "public", false), kind === "public");
    assert.equal(addressAllowed(kind, "public", true), kind === "public");
  }
});

test("a private origin reaches private addresses, but link-local ones only when it spells the address out", () => {
  assert.equal(addressAllowed("private", "private", false), true);
  assert.equal(addressAllowed("loopback", "private", false), true);
  assert.equal(addressAllowed("link_local", "private", false), false);
  assert.equal(addressAllowed("link_local", "private", true), true);
  assert.equal(addressAllowed("never", "private", true), false);
});

test("an IPv4 address hidden in any IPv6 form is never reached", () => {
  fc.assert(
    fc.property(fc.ipV4(), fc.constantFrom("::ffff:", "::", "64:ff9b::", "::ffff:0:"), (address, prefix) => {
      const kind = classifyAddress(prefix + address);
      assert.ok(kind === "never" || (kind === "loopback" && address === "0.0.0.1"), prefix + address);
    }),
  );
});

test("any text is classified without throwing, and what is no address is never reached", () => {
  fc.assert(fc.property(fc.string(), (text) => assert.equal(typeof classifyAddress(text), "string")));
  fc.assert(
    fc.property(fc.ipV6(), (address) => {
      const first = Number.parseInt(address.split(":")[0] || "0", 16);
      if (classifyAddress(address) === "public") assert.equal(first >> 13, 1);
    }),
  );
});
