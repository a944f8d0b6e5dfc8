/**
 * Signed requests (RFC 9421, Ed25519) instead of a token. What makes the request has to be covered: method, address, the
 * fields that mean something here, and the digest of the body (RFC 9530). A signature is good here, for a minute and once, whatever restarts in between.
 */
import { createHash, type KeyObject, verify } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Clock } from "../../../../src/kernel/clock.ts";
import { defaults } from "../../../../src/kernel/defaults.ts";
import { Denied } from "../../../../src/kernel/failure.ts";
import { type Identity, single } from "../context.ts";
import type { Store } from "../store.ts";

/** A key that the provider knows, and who holds it. */
export interface Signer extends Identity {
  readonly keyId: string;
  readonly publicKey: KeyObject;
}

export interface Signed {
  readonly identity: Identity;
  /** Refuses once the body is read, where it is not the one that was signed. */
  checkBody(): void;
}

interface Needs {
  readonly clock: Pick<Clock, "wallMs">;
  /** The provider's own address. */
  readonly origin: string;
  readonly store: Store;
}

const FIELD_CHARACTERS = 2_048;
/** Put in, taken out or changed on the way, each of these would make it another request. */
const MEANT = ["idempotency-key", "if-match", "x-correlation-id", "x-trace-id", "x-api-version"];

/** Null for a request that carries no signature. */
export function createSignatureVerifier(
  { clock, origin, store }: Needs,
  signers: readonly Signer[],
): (request: IncomingMessage) => Signed | null {
  return (request) => {
    const input = single(request.rawHeaders, "signature-input");
    const value = single(request.rawHeaders, "signature");
    if (input === undefined || value === undefined) return null;
    const { label, names, parameters, about } = readInput(input);
    const signer = signers.find(({ keyId }) => keyId === about.get("keyid"));
    if (signer === undefined) throw refused("nobody known has that key");
    const now = Math.floor(clock.wallMs() / 1_000);
    const created = Number(about.get("created") ?? Number.NaN);
    if (!(Math.abs(now - created) <= defaults.referenceSignatureS)) throw refused("it was not made just now");
    const nonce = about.get("nonce") ?? "";
    if (nonce === "") throw refused("its nonce is missing");
    const lines = names.map((name) => `"${name}": ${componentOf(request, origin, name)}`);
    const base = [...lines, `"@signature-params": ${parameters}`].join("\n");
    if (!verify(null, Buffer.from(base, "latin1"), signer.publicKey, readSignature(label, value)))
      throw refused("it does not fit the request");
    const { "content-length": length = "0", "transfer-encoding": coding } = request.headers;
    const hasBody = length !== "0" || coding !== undefined;
    const told = MEANT.filter((name) => single(request.rawHeaders, name) !== undefined);
    const needed = ["@method", "@target-uri", ...told, ...(hasBody ? ["content-digest", "content-type"] : [])];
    if (!needed.every((name) => names.includes(name))) throw refused(`it has to cover ${needed.join(", ")}`);
    takeOnce(store, signer.keyId, nonce, now);
    return { identity: signer, checkBody: hasBody ? watchBody(request) : () => undefined };
  };
}

/** In the file, so that what was taken right before the provider died is not taken again after it. */
function takeOnce(store: Store, key_id: string, nonce: string, now: number): void {
  const { db } = store;
  const taken = store.write(() => {
    store.run(db.deleteFrom("signed_nonces").where("taken_at_s", "<", now - 2 * defaults.referenceSignatureS));
    const row = { key_id, nonce, taken_at_s: now };
    return store.run(
      db
        .insertInto("signed_nonces")
        .values(row)
        .onConflict((conflict) => conflict.doNothing()),
    );
  });
  if (taken === 0) throw refused("its nonce was used before");
}

/** Hashes the body as it arrives; whoever reads it reads it as always. */
function watchBody(request: IncomingMessage): () => void {
  const hash = createHash("sha256");
  const push = request.push.bind(request);
  request.push = (chunk: Buffer | null, encoding) => {
    if (chunk !== null) hash.update(chunk);
    return push(chunk, encoding);
  };
  return () => {
    const told = single(request.rawHeaders, "content-digest");
    if (told !== `sha-256=:${hash.digest("base64")}:`) throw refused("the body is not the one that was signed");
  };
}

function componentOf(request: IncomingMessage, origin: string, name: string): string {
  switch (name) {
    case "@method":
      return request.method ?? "";
    case "@target-uri":
      // Never the Host that was sent: what was signed for somebody else is not for us.
      return new URL(request.url ?? "", origin).href;
    default: {
      const value = name.startsWith("@") ? undefined : single(request.rawHeaders, name);
      if (value === undefined) throw refused(`it covers ${JSON.stringify(name)}, which the request does not have`);
      return value.trim();
    }
  }
}

/** LABEL=("a" "b");created=1;keyid="k";nonce="n", and nothing else. */
function readInput(input: string) {
  const open = input.indexOf("=(");
  const close = input.indexOf(")");
  if (input.length > FIELD_CHARACTERS || open < 1 || close < open) throw refused("its input is malformed");
  const names = input
    .slice(open + 2, close)
    .split(" ")
    .map(unquoted);
  if (new Set(names).size !== names.length) throw refused("it covers something twice");
  const about = new Map<string, string>();
  for (const parameter of input
    .slice(close + 1)
    .split(";")
    .slice(1)) {
    const at = parameter.indexOf("=");
    const [name, value] = [parameter.slice(0, at), parameter.slice(at + 1)];
    if (at < 1 || about.has(name)) throw refused("its input is malformed");
    about.set(name, value.startsWith('"') ? unquoted(value) : value);
  }
  return { label: input.slice(0, open), names, parameters: input.slice(open + 1), about };
}

function unquoted(text: string): string {
  const inner = text.slice(1, -1);
  if (text !== `"${inner}"` || inner.includes('"') || inner.includes("\\")) throw refused("its input is malformed");
  return inner;
}

function readSignature(label: string, value: string): Buffer {
  const start = `${label}=:`;
  if (value.length > FIELD_CHARACTERS || !value.startsWith(start) || !value.endsWith(":"))
    throw refused("its value is malformed");
  return Buffer.from(value.slice(start.length, -1), "base64");
}

function refused(why: string): Denied {
  return new Denied("token_invalid", `the signature is refused: ${why}`);
}
