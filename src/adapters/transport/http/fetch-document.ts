import { type ClientRequest, type IncomingMessage, request as requestPlain } from "node:http";
import { request } from "node:https";
import { defaults } from "../../../kernel/defaults.ts";
import { Denied } from "../../../kernel/failure.ts";
import { USER_AGENT } from "./request-headers.ts";

/**
 * One public document, fetched by an operator's own command and never by the gateway: no credential goes along, no redirect
 * is followed. Undefined where there is none.
 */
export async function fetchDocument(url: string, ca: string | null): Promise<Buffer | undefined> {
  const { status, body } = await ask("GET", url, ca, { accept: "application/json" }, null);
  if (status === 404) return undefined;
  if (status !== 200) throw unreadable(url, `it answered ${status}`);
  return body;
}

/** One form, sent by an operator's own command for a person who logs in. Whatever is answered is for the caller to judge. */
export function postForm(
  url: string,
  ca: string | null,
  headers: Readonly<Record<string, string>>,
  body: string,
): Promise<Asked> {
  const own = { "content-type": "application/x-www-form-urlencoded", accept: "application/json" };
  return ask("POST", url, ca, { ...own, ...headers }, body);
}

interface Asked {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

function ask(
  method: string,
  url: string,
  ca: string | null,
  headers: Readonly<Record<string, string>>,
  body: string | null,
): Promise<Asked> {
  const own = { "user-agent": USER_AGENT, ...headers };
  const options = {
    method,
    headers: body === null ? own : { ...own, "content-length": Buffer.byteLength(body) },
    agent: false,
    signal: AbortSignal.timeout(defaults.documentMs),
    ...(ca === null ? {} : { ca }),
  } as const;
  return new Promise((resolve, reject) => {
    const fail = (why: string): void => reject(unreadable(url, why));
    const read = (response: IncomingMessage): void => {
      const parts: Buffer[] = [];
      let size = 0;
      response.on("data", (part: Buffer) => {
        size += part.length;
        if (size <= defaults.documentBytes) parts.push(part);
        else response.destroy(new Error("too large"));
      });
      response.on("error", () => fail("it is too large, or was cut off"));
      response.on("end", () => {
        const { statusCode: status = 0, headers: fields } = response;
        resolve({ status, headers: onlyText(fields), body: Buffer.concat(parts) });
      });
    };
    const asked: ClientRequest = url.startsWith("https:")
      ? request(url, options, read)
      : requestPlain(url, options, read);
    asked.on("error", (error: NodeJS.ErrnoException) => fail(sayWhy(error.code ?? error.name)));
    asked.end(body ?? undefined);
  });
}

function onlyText(fields: IncomingMessage["headers"]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : [])),
  );
}

/** What an operator meets who mistypes an address, or has no way there. */
const WORDS: Readonly<Record<string, string>> = {
  ENOTFOUND: "this machine finds no host of that name",
  EAI_AGAIN: "this machine's name server does not answer",
  ECONNREFUSED: "nothing listens there",
  ABORT_ERR: "it did not answer in time",
  CERT_HAS_EXPIRED: "its certificate is over",
  DEPTH_ZERO_SELF_SIGNED_CERT: "its certificate is signed by nobody but itself: name its authority",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate has another name",
};

function sayWhy(code: string): string {
  const words = WORDS[code];
  return words === undefined ? code : `${words} (${code})`;
}

function unreadable(url: string, why: string): Denied {
  const next = "See that the address is right and this machine reaches it; then run the command again.";
  return new Denied("token_unavailable", `${url} cannot be read: ${why}.`, { next });
}
