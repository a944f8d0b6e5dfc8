import type { KeyObject } from "node:crypto";
import { CompactSign } from "jose";
import { canonicalJson } from "../../kernel/canonical-json.ts";
import type { JsonValue } from "../../kernel/json.ts";
import { CONTEXT_TYPE, readContext, type WorkContext } from "./context.ts";

export interface ContextSigner {
  readonly keyId: string;
  /** Ed25519. */
  readonly key: KeyObject;
}

/** Signs a work context, in the issuer's own process. What could not be verified is not signed either. */
export async function signContext(context: WorkContext, signer: ContextSigner): Promise<string> {
  const checked = readContext(context as unknown as JsonValue);
  const payload = Buffer.from(canonicalJson(checked as unknown as JsonValue), "utf8");
  return new CompactSign(payload)
    .setProtectedHeader({ alg: "EdDSA", typ: CONTEXT_TYPE, kid: signer.keyId })
    .sign(signer.key);
}
