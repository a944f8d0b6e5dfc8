import { Secret } from "../../kernel/secret.ts";
import { prepareScreen, type ResponseContent } from "./echo.ts";

/** The rest of an answer that brought new secrets, without them: they may stand in it a second time, in any form that a credential is looked for in. */
export function hideSecrets(
  content: ResponseContent,
  texts: readonly string[],
): ResponseContent & { readonly withheld: boolean } {
  const secrets = texts.map((text) => Secret.fromText(text));
  const screened = prepareScreen(secrets)(content, "redact");
  for (const secret of secrets) secret.wipe();
  if (screened.kind === "clean") return { ...content, withheld: false };
  return { ...screened.content, withheld: screened.kind === "withheld" };
}
