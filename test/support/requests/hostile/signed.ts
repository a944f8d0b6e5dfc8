import { sign } from "node:crypto";
import { digestJson } from "../../../../src/kernel/canonical-json.ts";
import type { Code } from "../../../../src/kernel/codes.ts";
import type { JsonValue } from "../../../../src/kernel/json.ts";
import { signer } from "../routes.ts";
import { type Hostile, JSON_TYPE, RELEASE, sized } from "./entry.ts";

/** Signs the canonical command as a client would, for the target and body it means. */
export function signatureFor(target: string, query: JsonValue, body: JsonValue, key = signer.privateKey): string {
  const command = { endpoint: "POST /v1/releases", params: {}, query, body };
  const lines = ["gw-signed-request/v1", "canonical", "POST", target, "application/json", digestJson(command), ""];
  return sign(null, Buffer.from(lines.join("\n")), key).toString("base64");
}

const body = { n: 1, service: "web" };
const plain = '{"n":1,"service":"web"}';
const signature = signatureFor("/v1/releases", {}, body);
const key = "Gw-Key-Id: ci-1";
const good = [JSON_TYPE, key, `Gw-Signature: ${signature}`];

function bad(name: string, fields: readonly string[], text: string, code: Code, status: number, query = ""): Hostile {
  return { name: `signed: ${name}`, status, code, send: sized(`${RELEASE}${query}`, fields, text) };
}

const alternate = (name: string, text: string): Hostile => bad(name, good, text, "request_encoding_not_canonical", 400);

export const goodSigned = sized(RELEASE, good, plain);

export const signedEntries: readonly Hostile[] = [
  bad("no signature", [JSON_TYPE, key], plain, "request_signature_missing", 401),
  bad("no key", [JSON_TYPE, `Gw-Signature: ${signature}`], plain, "request_signature_missing", 401),
  bad("two signatures", [...good, `Gw-Signature: ${signature}`], plain, "request_signature_missing", 401),
  bad(
    "an unknown key",
    [JSON_TYPE, "Gw-Key-Id: ci-2", `Gw-Signature: ${signature}`],
    plain,
    "request_signature_invalid",
    401,
  ),
  bad(
    "a key id that is a path",
    [JSON_TYPE, "Gw-Key-Id: ../ci-1", `Gw-Signature: ${signature}`],
    plain,
    "request_signature_invalid",
    401,
  ),
  bad("not base64", [JSON_TYPE, key, "Gw-Signature: !!"], plain, "request_signature_invalid", 401),
  bad("another body", good, '{"n":2,"service":"web"}', "request_signature_invalid", 401),
  bad("another query", good, plain, "request_signature_invalid", 401, "?dry=true"),
  alternate("white space", '{"n":1, "service":"web"}'),
  alternate("another order of members", '{"service":"web","n":1}'),
  alternate("an escape for a plain letter", '{"n":1,"service":"w\\u0065b"}'),
  alternate("a number in another spelling", '{"n":1.0,"service":"web"}'),
  alternate("a final line end", `${plain}\n`),
  bad("a query in another order", good, plain, "request_encoding_not_canonical", 400, "?dry=true&at=x"),
  bad("a query with needless escapes", good, plain, "request_encoding_not_canonical", 400, "?at=%78"),
  bad("an empty query", good, plain, "request_encoding_not_canonical", 400, "?"),
];
