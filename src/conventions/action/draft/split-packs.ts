import { Denied } from "../../../kernel/failure.ts";
import { classifyApi } from "../../upgrade/meaning/classify-api.ts";
import { splitWords } from "../../upgrade/meaning/words.ts";
import type { Api, ApiOperation } from "../../upgrade/model/api.ts";
import { chooseOperations, groupByTag, type OperationChoice } from "./choose-operations.ts";
import { draftOperations, type PackDraft } from "./draft-pack.ts";

export interface NamedDraft extends PackDraft {
  readonly pack: string;
}

export interface SplitDraft {
  readonly packs: readonly NamedDraft[];
  /** Operations of tags of which nothing fits a pack. */
  readonly leftOut: PackDraft["leftOut"];
}

const NAME_CHARACTERS = 32;

/** One pack a tag, and more than one where a tag alone is too large for a pack. */
export function splitPacks(
  api: Api,
  request: OperationChoice & { readonly pack: string; readonly origin: string | null },
): SplitDraft {
  const verdicts = classifyApi(api);
  const packs: NamedDraft[] = [];
  const leftOut: PackDraft["leftOut"][number][] = [];
  const names = new Set<string>();
  const draft = (operations: readonly ApiOperation[], tag: string): void => {
    const pack = nameFor(request.pack, tag, names);
    try {
      packs.push({ pack, ...draftOperations(api, operations, { pack, origin: request.origin }, verdicts) });
      names.add(pack);
    } catch (error) {
      if (!(error instanceof Denied)) throw error;
      if (error.code === "pack_too_large" && operations.length > 1) {
        const middle = Math.ceil(operations.length / 2);
        draft(operations.slice(0, middle), tag);
        draft(operations.slice(middle), tag);
      } else if (error.code === "pack_too_large" || error.code === "value_not_allowed") {
        leftOut.push(...operations.map(({ key }) => ({ operation: key, why: error.message })));
      } else throw error;
    }
  };
  for (const [tag, operations] of groupByTag(chooseOperations(api, request))) draft(operations, tag);
  if (packs.length === 0) throw new Denied("value_not_allowed", `Nothing of it fits a pack. ${leftOut[0]?.why ?? ""}`);
  return { packs, leftOut };
}

function nameFor(pack: string, tag: string, taken: ReadonlySet<string>): string {
  const slug = splitWords(tag).join("-") || "other";
  for (let count = 1; ; count++) {
    const end = count === 1 ? "" : `-${count}`;
    const room = NAME_CHARACTERS - pack.length - end.length - 1;
    const name = `${pack}-${slug.slice(0, Math.max(room, 1)).replace(/-+$/, "")}${end}`;
    if (!taken.has(name)) return name;
  }
}
