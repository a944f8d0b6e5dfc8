import type { ActionCondition } from "../../../conventions/grant/condition.ts";
import { showIdentifier } from "../../../kernel/display.ts";
import { Denied } from "../../../kernel/failure.ts";
import type { VaultHome } from "../../../vault/files/home.ts";
import { boundOn } from "../grant/draft.ts";
import { readTrustedPacks } from "../packs.ts";

/** A condition on the arguments of one action, as a person typed it beside a card. */
export interface WhereWords {
  readonly action: string;
  readonly text: string;
}

/** Typed against the packs that are trusted in this home, as the conditions of a grant are. */
export function readWhere(
  said: readonly WhereWords[],
  folder: string,
  home: VaultHome,
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
  return { where };
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
