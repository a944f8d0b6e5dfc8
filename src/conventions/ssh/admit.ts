import { verifySsh } from "../../kernel/ssh-key.ts";
import { admitField } from "./field-grammar.ts";
import { type HostOperation, type Manifest, STATUS_ACTION } from "./manifest.ts";
import type { RefusalCode } from "./refusal.ts";
import { isRequestId, type ReceiverRequest, signedBytes } from "./request.ts";

/** What a request comes to on a host: a fixed program with an argument array, a look at the record, or a refusal. */
export type Admission =
  | { readonly kind: "operate"; readonly operation: HostOperation; readonly argv: readonly string[] }
  | { readonly kind: "status"; readonly of: string }
  | { readonly kind: "refused"; readonly code: RefusalCode };

export function admitRequest(manifest: Manifest, request: ReceiverRequest, nonce: string): Admission {
  if (request.nonce !== null && request.nonce !== nonce) return refuse("nonce_mismatch");
  const unsigned = judgeSignature(manifest, request);
  if (unsigned !== null) return refuse(unsigned);
  if (request.action === STATUS_ACTION) return admitStatus(request);
  const operation = manifest.operations.get(request.action);
  if (operation === undefined) return refuse("action_unknown");
  for (const name of request.fields.keys()) if (!operation.fields.has(name)) return refuse("field_unknown");
  const values = new Map<string, string>();
  for (const [name, grammar] of operation.fields) {
    const value = request.fields.get(name);
    if (value === undefined) return refuse("field_missing");
    const text = admitField(grammar, value);
    if (text === undefined) return refuse("field_not_allowed");
    values.set(name, text);
  }
  return { kind: "operate", operation, argv: argumentsOf(operation, values) };
}

function judgeSignature(manifest: Manifest, request: ReceiverRequest): RefusalCode | null {
  if (manifest.pin === null) return null;
  // Without the nonce a signed request could be played again to a host that lost its record.
  if (request.signature === null || request.nonce === null) return "signature_missing";
  const signature = Buffer.from(request.signature, "base64");
  const { gatewayKey, hostKey } = manifest.pin;
  return verifySsh(gatewayKey, signedBytes(hostKey, request.signed), signature) ? null : "signature_invalid";
}

function admitStatus(request: ReceiverRequest): Admission {
  const of = request.fields.get("of");
  if (of === undefined) return refuse("field_missing");
  if (request.fields.size > 1) return refuse("field_unknown");
  return typeof of === "string" && isRequestId(of) ? { kind: "status", of } : refuse("field_not_allowed");
}

function argumentsOf(operation: HostOperation, values: ReadonlyMap<string, string>): string[] {
  const argv: string[] = [];
  for (const argument of operation.arguments) {
    switch (argument.kind) {
      case "literal":
        argv.push(argument.text);
        break;
      case "field":
        argv.push(`${argument.prefix}${values.get(argument.field) ?? ""}`);
        break;
      case "switch":
        if (values.get(argument.field) === "true") argv.push(argument.text);
        break;
    }
  }
  return argv;
}

function refuse(code: RefusalCode): Admission {
  return { kind: "refused", code };
}
