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
  // Together: where two overlap, one that was taken out alone would leave the rest of the other.
  const secrets = texts.map((text) => Secret.fromText(text));
  try {
    const screened = prepareScreen(secrets)(content, "redact");
    if (screened.kind === "clean") return { ...content, withheld: false };
    const { headers, body } = screened.content;
    if (screened.kind === "redacted" && isJson(body)) return { headers, body, withheld: false };
    return { headers, body: EMPTY, withheld: true };
  } finally {
    for (const secret of secrets) secret.wipe();
  }
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
