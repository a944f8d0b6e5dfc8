import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { type CallbackScheme, fieldOf } from "./callback.ts";
import { signWebhook, verifyWebhook } from "./standard-webhooks.ts";
import { verifyCallback } from "./verify.ts";

const KEY = Buffer.from("0123456789abcdef0123456789abcdef");
const NOW_S = 1_790_000_000;
const macWith = (key: Buffer) => (content: Buffer) => createHmac("sha256", key).update(content).digest();
const mac = macWith(KEY);
const github: CallbackScheme = {
  kind: "hmac_sha256",
  header: "x-hub-signature-256",
  prefix: "sha256=",
  encoding: "hex",
};
const plain: CallbackScheme = { kind: "hmac_sha256", header: "x-mac", prefix: "", encoding: "base64" };
const schemes = [{ kind: "standard_webhooks" }, { kind: "stripe" }, github, plain] as const;

/** The headers with which an honest provider sends `body`. */
function signed(scheme: CallbackScheme, body: Buffer, key = KEY, atS = NOW_S): string[] {
  const hmac = (content: Buffer | string): Buffer => createHmac("sha256", key).update(content).digest();
  switch (scheme.kind) {
    case "standard_webhooks": {
      const value = hmac(Buffer.concat([Buffer.from(`evt_1.${atS}.`), body])).toString("base64");
      return ["Webhook-Id", "evt_1", "Webhook-Timestamp", String(atS), "Webhook-Signature", `v1,${value}`];
    }
    case "stripe": {
      const value = hmac(Buffer.concat([Buffer.from(`${atS}.`), body])).toString("hex");
      return ["Stripe-Signature", `t=${atS},v1=${value},v0=00`];
    }
    case "hmac_sha256":
      return [scheme.header, `${scheme.prefix}${hmac(body).toString(scheme.encoding)}`];
  }
}

const verify = (scheme: CallbackScheme, rawHeaders: readonly string[], body: Buffer, nowS = NOW_S) =>
  verifyCallback(scheme, { rawHeaders, body }, mac, nowS, 300);

for (const scheme of schemes) {
  const name = scheme.kind === "hmac_sha256" ? `${scheme.kind} in ${scheme.encoding}` : scheme.kind;

  test(`${name}: a callback verifies as its provider signed it, whatever bytes its body has`, () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const body = Buffer.from(bytes);
        assert.equal(verify(scheme, signed(scheme, body), body), "verified");
      }),
    );
  });

  test(`${name}: a body changed by one byte, cut or lengthened does not verify`, () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 1, maxLength: 200 }),
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        (bytes, where, by) => {
          const body = Buffer.from(bytes);
          const headers = signed(scheme, body);
          const changed = Buffer.from(body);
          const at = where % body.length;
          changed[at] = (changed[at] ?? 0) ^ by;
          assert.equal(verify(scheme, headers, changed), "signature_invalid");
          assert.equal(verify(scheme, headers, body.subarray(1)), "signature_invalid");
          assert.equal(verify(scheme, headers, Buffer.concat([body, Buffer.from([0])])), "signature_invalid");
        },
      ),
    );
  });

  test(`${name}: another secret, no header, a header twice and arbitrary headers do not verify`, () => {
    const body = Buffer.from('{"job_id":"job-1"}');
    const headers = signed(scheme, body);
    assert.equal(verify(scheme, signed(scheme, body, Buffer.alloc(32, 9)), body), "signature_invalid");
    assert.equal(verify(scheme, [], body), "signature_invalid");
    assert.equal(verify(scheme, [...headers, ...headers], body), "signature_invalid", "two signatures are none");
    const names = headers.filter((_, index) => index % 2 === 0);
    fc.assert(
      fc.property(
        fc.array(fc.string({ maxLength: 90 }), { minLength: names.length, maxLength: names.length }),
        (values) => {
          const forged = names.flatMap((one, index) => [one, values[index] ?? ""]);
          assert.equal(verify(scheme, forged, body), "signature_invalid");
        },
      ),
    );
  });
}

for (const scheme of [{ kind: "standard_webhooks" }, { kind: "stripe" }] as const) {
  test(`${scheme.kind}: the signed time must be near ours, on either side`, () => {
    const body = Buffer.from("{}");
    const headers = signed(scheme, body);
    assert.equal(verify(scheme, headers, body, NOW_S + 300), "verified");
    assert.equal(verify(scheme, headers, body, NOW_S - 300), "verified");
    assert.equal(verify(scheme, headers, body, NOW_S + 301), "too_old");
    assert.equal(verify(scheme, headers, body, NOW_S - 301), "too_old");
    const renewed = headers.map((text) => text.replaceAll(String(NOW_S), String(NOW_S + 301)));
    assert.equal(verify(scheme, renewed, body, NOW_S + 301), "signature_invalid", "the time is signed too");
  });
}

test("stripe: a second time, or none, does not verify", () => {
  const body = Buffer.from("{}");
  const [, value = ""] = signed({ kind: "stripe" }, body);
  const withField = (text: string) => verify({ kind: "stripe" }, ["Stripe-Signature", text], body);
  assert.equal(withField(value), "verified");
  assert.equal(withField(`${value},t=${NOW_S}`), "signature_invalid");
  assert.equal(withField(value.slice(value.indexOf(",") + 1)), "signature_invalid");
  assert.equal(withField(`${value},v1=${"a".repeat(2_000)}`), "signature_invalid");
});

test("hmac_sha256: the prefix is part of the contract", () => {
  const body = Buffer.from("{}");
  const [name = "", value = ""] = signed(github, body);
  assert.equal(verify(github, [name, value.slice("sha256=".length)], body), "signature_invalid");
  assert.equal(verify(github, [name, value.replace("sha256=", "sha1=")], body), "signature_invalid");
  assert.equal(verify(github, [name, `${value}00`], body), "signature_invalid");
});

test("standard_webhooks: the specification's own example verifies as it was signed and in no other form", () => {
  const key = Buffer.from("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "base64");
  const text = '{"test": 2432232314}';
  const head = signWebhook(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, text);
  assert.equal(head.signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
  const check = (changes: Partial<typeof head>, body = text, nowS = 1_614_265_330) =>
    verifyWebhook(macWith(key), { ...head, ...changes }, Buffer.from(body), nowS, 300);
  assert.equal(check({}), "verified");
  assert.equal(check({ signature: `v1a,x v1,AAAA ${head.signature}` }), "verified", "one of several is enough");
  for (const changes of [
    { id: "msg_2" },
    { id: "" },
    { timestamp: "1614265331" },
    { timestamp: "1e9" },
    { timestamp: "" },
    { signature: "" },
    { signature: head.signature.replace("v1,", "v2,") },
  ]) {
    assert.equal(check(changes), "signature_invalid", JSON.stringify(changes));
  }
  assert.equal(check({}, '{"test":2432232314}'), "signature_invalid");
  assert.equal(check({}, undefined, 1_614_265_631), "too_old");
  assert.equal(check({}, undefined, 1_614_265_029), "too_old");
});

test("what is signed well has a name, and no part of it is longer than it may be", () => {
  const named = (id: string) => verifyWebhook(mac, signWebhook(KEY, id, NOW_S, "{}"), Buffer.from("{}"), NOW_S, 300);
  assert.deepEqual(["", "x", "x".repeat(256), "x".repeat(257)].map(named), [
    "signature_invalid",
    "verified",
    "verified",
    "signature_invalid",
  ]);
  const padded = (length: number) => {
    const head = signWebhook(KEY, "evt_1", NOW_S, "{}");
    return verifyWebhook(mac, { ...head, signature: head.signature.padEnd(length) }, Buffer.from("{}"), NOW_S, 300);
  };
  assert.deepEqual([padded(1_024), padded(1_025)], ["verified", "signature_invalid"]);
  const [name = "", value = ""] = signed({ kind: "stripe" }, Buffer.from("{}"));
  const long = (length: number) => verify({ kind: "stripe" }, [name, value.padEnd(length)], Buffer.from("{}"));
  assert.deepEqual([long(1_024), long(1_025)], ["verified", "signature_invalid"]);
});

test("a header counts when it came exactly once, in any letters", () => {
  assert.equal(fieldOf(["A", "1", "b", "2"], "B"), "2");
  assert.equal(fieldOf(["A", "1", "a", "1"], "a"), null);
  assert.equal(fieldOf(["x", "a"], "a"), null, "a value is no name");
});
