import type { Code } from "../../../../src/kernel/codes.ts";

/** One hostile request, byte for byte, and what it must get. */
export interface Hostile {
  readonly name: string;
  readonly send: readonly (string | Buffer)[];
  readonly status: number;
  readonly code: Code;
  /** The code of the first entry in errors[], where there is one. */
  readonly finding?: Code;
  readonly path?: string;
  /** The connection must end with the reply. */
  readonly closes?: true;
}

export type Fields = readonly string[];

export function request(line: string, fields: Fields, body: string | Buffer = ""): readonly (string | Buffer)[] {
  return [`${line} HTTP/1.1\r\nHost: t\r\n${fields.map((field) => `${field}\r\n`).join("")}\r\n`, body];
}

/** A request whose Content-Length is right, so that only what the entry is about is wrong. */
export function sized(line: string, fields: Fields, body: string | Buffer): readonly (string | Buffer)[] {
  return request(line, [...fields, `Content-Length: ${Buffer.byteLength(body)}`], body);
}

export function chunked(line: string, fields: Fields, chunks: readonly string[], end = "0\r\n\r\n"): readonly string[] {
  const body = chunks.map((chunk) => `${Buffer.byteLength(chunk).toString(16)}\r\n${chunk}\r\n`).join("");
  return [
    `${line} HTTP/1.1\r\nHost: t\r\n${[...fields, "Transfer-Encoding: chunked"].join("\r\n")}\r\n\r\n${body}${end}`,
  ];
}

export const PROMOTE = "POST /v1/deployments/promote";
export const SEARCH = "POST /v1/searches";
export const UPLOAD = "POST /v1/artifacts";
export const REVOKE = "POST /v1/sessions/revoke";
export const RELEASE = "POST /v1/releases";
export const JSON_TYPE = "Content-Type: application/json";
export const FORM_TYPE = "Content-Type: application/x-www-form-urlencoded";
export const GOOD_JSON = '{"environment":"staging","release":"r1"}';
