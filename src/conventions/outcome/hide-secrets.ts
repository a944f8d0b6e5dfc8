import { Secret } from "../../kernel/secret.ts";
import { prepareScreen, type ResponseContent } from "./echo.ts";

/**
 * The rest of a JSON answer that brought new secrets, without them: they may stand in it a second time, in any form that a credential
 * is looked for in. Where one is no text there, a number say, what is left would be no JSON: all of it is withheld.
 */
export function hideSecrets(
  content: ResponseContent,
  texts: readonly string[],
): ResponseContent & { readonly withheld: boolean } {
  let left = content;
  let withheld = false;
  // Each by itself, the longest first: a screen of several looks for the shortest alone, and leaves what others hold beside it.
  for (const text of texts.toSorted((a, b) => b.length - a.length)) {
    using secret = Secret.fromText(text);
    const screened = prepareScreen([secret])(left, "redact");
    if (screened.kind === "clean") continue;
    left = screened.content;
    withheld ||= screened.kind === "withheld";
  }
  if (!withheld && (left === content || isJson(left.body))) return { ...left, withheld };
  return { headers: left.headers, body: EMPTY, withheld: true };
}

function isJson(body: Buffer): boolean {
  try {
    JSON.parse(body.toString("utf8"));
    return true;
  } catch {
    return false;
  }
}

const EMPTY = Buffer.alloc(0);
