import type { Sleep } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import type { RunDoor } from "./door.ts";

export interface BridgeWatch {
  onListChanged(): void;
  onParentGone(): void;
}

/**
 * Looks now and then at what nobody tells us: whether the program behind the bridge still lives, and whether scope or
 * packs changed what may be called.
 */
export function watchBridge(door: RunDoor, sleep: Sleep, over: AbortSignal, watch: BridgeWatch): void {
  let told = listMark(door);
  void look().catch(() => undefined);

  async function look(): Promise<void> {
    for (;;) {
      await sleep.sleep(defaults.mcpLookMs, over);
      if (over.aborted) return;
      if (!door.parentLives()) return watch.onParentGone();
      const now = listMark(door);
      if (now === told) continue;
      told = now;
      watch.onListChanged();
    }
  }
}

/** The names and the exact packs behind them: a tool whose definition changed is another tool. */
function listMark(door: RunDoor): string {
  return door
    .definitions()
    .map(({ pack, action }) => `${pack.digest} ${action.qualifiedName}`)
    .join("\n");
}
