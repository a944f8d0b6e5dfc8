import type { Card } from "../../../conventions/approval/card.ts";
import { type ActionCondition, conditionWords, holds } from "../../../conventions/grant/condition.ts";
import { showIdentifier } from "../../../kernel/display.ts";
import { Denied } from "../../../kernel/failure.ts";
import { isJsonObject, type JsonObject } from "../../../kernel/json.ts";
import type { VaultHome } from "../../../vault/files/home.ts";
import { boundOn } from "../grant/draft.ts";
import { readTrustedPacks } from "../packs.ts";

/** A condition on the arguments of one action, as a person typed it beside a card. */
export interface WhereWords {
  readonly action: string;
  readonly text: string;
}

/**
 * Typed against the packs that are trusted in this home, as the conditions of a grant are. One that excludes the very call on the
 * card is refused: approving it would let nothing happen.
 */
export function readWhere(
  said: readonly WhereWords[],
  folder: string,
  home: VaultHome,
  { call }: Pick<Card, "call">,
): { readonly where?: readonly ActionCondition[] } {
  if (said.length === 0) return {};
  const packs = readTrustedPacks(folder, home.readPolicy(home.readVault()));
  const known = new Map(packs.flatMap(({ actions }) => [...actions.values()]).map((one) => [one.qualifiedName, one]));
  const where = said.map(({ action, text }) => {
    const found = known.get(action);
    if (found === undefined) throw unfit(`no trusted pack has an action ${showIdentifier(action)}; see gw pack list`);
    const condition = boundOn(found, text.trim());
    if (typeof condition === "string") throw unfit(condition);
    return { action, ...condition };
  });
  const broken = where.find((one) => call !== null && one.action === call.action && excludes(one, call.arguments));
  if (broken !== undefined)
    throw unfit(
      `the call on this card is not one where ${conditionWords(broken)}: it would be refused. Deny it instead`,
    );
  return { where };
}

/** What is shown by size and digest alone cannot be held against anything here; the gateway does that. */
function excludes(condition: ActionCondition, shown: JsonObject): boolean {
  return !(isJsonObject(shown[condition.input] ?? null) || holds(condition, shown));
}

/** `PACK.ACTION CONDITION`, in one word of the command line. */
export function splitWhere(text: string): WhereWords {
  const at = text.indexOf(" ");
  if (at < 1) throw unfit("--where is an action and a condition, such as 'acme.file.get path^=docs/'");
  return { action: text.slice(0, at), text: text.slice(at + 1) };
}

function unfit(why: string): Denied {
  return new Denied("value_not_allowed", `${why}. Nothing was signed.`);
}
