import type { JsonObject } from "../../kernel/json.ts";
import { isNoCommit, type RefUpdate } from "./push.ts";

/** What a push does to each ref, for a card. That a branch loses commits cannot be told from what is pushed. */
export function describePush({ updates }: JsonObject): readonly string[] {
  if (!Array.isArray(updates)) return [];
  return (updates as unknown as readonly RefUpdate[]).map((one) => {
    if (isNoCommit(one.new)) return `push: DELETES ${one.ref}, which was at ${short(one.old)}`;
    if (isNoCommit(one.old)) return `push: creates ${one.ref} at ${short(one.new)}`;
    return `push: ${one.ref}: ${short(one.old)} → ${short(one.new)} (whether it is forced, the push does not say)`;
  });
}

function short(commit: string): string {
  return commit.slice(0, 12);
}
