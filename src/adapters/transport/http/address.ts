import { BlockList, isIP } from "node:net";

/**
 * What an address is good for. `never` holds everything no provider is reached by: unspecified, multicast, reserved and
 * documentation ranges, and every IPv6 form that hides an IPv4 address (mapped, NAT64, 6to4, Teredo).
 */
export type AddressClass = "public" | "private" | "loopback" | "link_local" | "never";

type Range = readonly [network: string, prefix: number];

const ipv4: Readonly<Record<Exclude<AddressClass, "public">, readonly Range[]>> = {
  loopback: [["127.0.0.0", 8]],
  link_local: [["169.254.0.0", 16]],
  private: [
    ["10.0.0.0", 8],
    ["100.64.0.0", 10],
    ["172.16.0.0", 12],
    ["192.168.0.0", 16],
  ],
  never: [
    ["0.0.0.0", 8],
    ["192.0.0.0", 24],
    ["192.0.2.0", 24],
    ["192.88.99.0", 24],
    ["198.18.0.0", 15],
    ["198.51.100.0", 24],
    ["203.0.113.0", 24],
    ["224.0.0.0", 4],
    ["240.0.0.0", 4],
  ],
};

const ipv6: Readonly<Record<AddressClass, readonly Range[]>> = {
  loopback: [["::1", 128]],
  link_local: [["fe80::", 10]],
  private: [["fc00::", 7]],
  // Inside the one block that is handed out for the open Internet, these are not.
  never: [
    ["2001::", 23],
    ["2001:db8::", 32],
    ["2002::", 16],
    ["3fff::", 20],
  ],
  public: [["2000::", 3]],
};

const lists4 = Object.entries(ipv4).map(([kind, ranges]) => listOf(kind as AddressClass, ranges, "ipv4"));
const lists6 = Object.entries(ipv6).map(([kind, ranges]) => listOf(kind as AddressClass, ranges, "ipv6"));

/** IPv4 is public unless listed; IPv6 is refused unless listed, because most of it is not handed out. */
export function classifyAddress(address: string): AddressClass {
  const held = known.get(address);
  if (held !== undefined) return held;
  const kind = classify(address);
  if (known.size >= KNOWN_ADDRESSES) known.clear();
  known.set(address, kind);
  return kind;
}

/** Every call judges its addresses anew, and most are the same ones. */
const known = new Map<string, AddressClass>();
const KNOWN_ADDRESSES = 4096;

function classify(address: string): AddressClass {
  // A zone (`fe80::1%eth0`) names an interface of this machine: nothing a provider's name should ever choose.
  if (address.includes("%")) return "never";
  switch (isIP(address)) {
    case 4:
      return lists4.find(({ list }) => list.check(address, "ipv4"))?.kind ?? "public";
    case 6:
      return lists6.find(({ list }) => list.check(address, "ipv6"))?.kind ?? "never";
  }
  return "never";
}

/**
 * Link-local holds the metadata service of every cloud, so a name may never lead there: only an origin that spells the
 * address out, in a pack that says `network: private`.
 */
export function addressAllowed(kind: AddressClass, network: "public" | "private", literal: boolean): boolean {
  switch (kind) {
    case "public":
      return true;
    case "private":
    case "loopback":
      return network === "private";
    case "link_local":
      return network === "private" && literal;
    case "never":
      return false;
  }
}

function listOf(kind: AddressClass, ranges: readonly Range[], family: "ipv4" | "ipv6") {
  const list = new BlockList();
  for (const [network, prefix] of ranges) list.addSubnet(network, prefix, family);
  return { kind, list };
}
