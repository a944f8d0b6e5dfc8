import { join } from "node:path";
import type { LearnedPack } from "../../../conventions/action/learn/draft-learned.ts";
import { showText } from "../../../kernel/display.ts";
import { writeNew } from "../pack-import.ts";

/** One new file a pack; what to do with them, in words. */
export async function writeDrafts(drafts: readonly LearnedPack[], folder: string): Promise<readonly string[]> {
  if (drafts.length === 0) return ["Nothing was refused that a pack could say."];
  const lines: string[] = [];
  for (const { pack, origin, text, actions, leftOut } of drafts) {
    const file = join(folder, `${pack}.yaml`);
    await writeNew(file, text);
    lines.push(
      `${showText(file)}: a draft of ${actions.length} ${actions.length === 1 ? "action" : "actions"} of ${showText(origin)}`,
      ...leftOut.map(({ operation, why }) => `  left out: ${showText(operation)}: ${showText(why)}`),
    );
  }
  return [...lines, "None is trusted. Look at the REVIEW remarks, then: gw pack lint, gw pack add, gw pack trust."];
}
