import assert from "node:assert/strict";
import { test } from "node:test";
import { Denied } from "../../kernel/failure.ts";
import type { ServiceVault } from "../../vault/lend.ts";
import type { SshSigner } from "../../vault/lent.ts";
import { signRequest } from "./sign-request.ts";

const DATA = Buffer.from("a request");

/** A compartment that lends one signer and counts what becomes of it. */
function opened(sign: SshSigner["sign"]) {
  const seen = { lent: 0, released: 0 };
  const signer: SshSigner = {
    label: "request key",
    publicKeyBlob: Buffer.alloc(0),
    algorithm: "ssh-ed25519",
    sign,
    release: () => void seen.released++,
  };
  const lendRequestSigner = () => {
    seen.lent++;
    return signer;
  };
  const service = { lendRequestSigner } as unknown as ServiceVault;
  return { compartment: { service }, seen };
}

test("a locked gateway signs nothing", () => {
  assert.throws(
    () => signRequest(null, DATA),
    (error) => error instanceof Denied && error.code === "gateway_locked",
  );
});

test("the key is lent for one signature and given back, whatever becomes of it", () => {
  const good = opened((data) => Buffer.concat([Buffer.from("signed "), data]));
  assert.equal(signRequest(good.compartment, DATA)?.toString(), "signed a request");
  assert.deepEqual(good.seen, { lent: 1, released: 1 });
  const bad = opened(() => {
    throw new Error("no");
  });
  assert.throws(() => signRequest(bad.compartment, DATA), /no/);
  assert.deepEqual(bad.seen, { lent: 1, released: 1 });
});

test("a vault without a key of the gateway's own signs nothing, and what hosts that pin none get is unsigned", () => {
  const service = { lendRequestSigner: () => null } as unknown as ServiceVault;
  assert.equal(signRequest({ service }, DATA), null);
});
