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
  const secrets = texts.map((text) => Secret.fromText(text));
  const screened = prepareScreen(secrets)(content, "redact");
  for (const secret of secrets) secret.wipe();
  if (screened.kind === "clean") return { ...content, withheld: false };
  const { headers, body } = screened.content;
  if (screened.kind === "withheld" || !isJson(body)) return { headers, body: EMPTY, withheld: true };
  return { headers, body, withheld: false };
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
