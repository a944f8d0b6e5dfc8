import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { SeenGateway } from "../../../hub/check-fleet.ts";
import { Denied } from "../../../kernel/failure.ts";
import { withLock } from "../../../vault/files/lock.ts";
import { readPlainFile } from "../../../vault/files/private-file.ts";
import { requireStateFolder } from "../vault/seen.ts";

/**
 * What this person saw of a hub, in their own state folder: whoever puts old rows back into the database cannot put this back
 * with them.
 */
export type SeenFleet = Readonly<Record<string, SeenGateway>>;

const SEEN_BYTES = 4_194_304;

export function recallFleet(stateFolder: string, hubId: string): SeenFleet {
  const path = pathOf(stateFolder, hubId);
  try {
    const text = readPlainFile(path, SEEN_BYTES);
    if (text === undefined) return {};
    return (JSON.parse(text.toString("utf8")) as { readonly gateways: SeenFleet }).gateways;
  } catch {
    throw new Denied(
      "memory_unreadable",
      `${path}, where gw remembers what you last saw of this hub, cannot be read. Find out what damaged it; without it, a hub that was put back would pass for the newest.`,
    );
  }
}

/** Only what was found in order is remembered, and it only rises. */
export async function rememberFleet(stateFolder: string, hubId: string, news: SeenFleet): Promise<void> {
  requireStateFolder(stateFolder);
  const path = pathOf(stateFolder, hubId);
  await withLock(`${path}.lock`, () => {
    const known = recallFleet(stateFolder, hubId);
    const newer = Object.entries(news).filter(([name, { tick }]) => tick >= (known[name]?.tick ?? 0));
    const gateways = { ...known, ...Object.fromEntries(newer) };
    writeFileSync(`${path}.new`, `${JSON.stringify({ format: "gw.hub-seen/v1", gateways })}\n`, { mode: 0o600 });
    renameSync(`${path}.new`, path);
  });
}

function pathOf(stateFolder: string, hubId: string): string {
  return join(stateFolder, `${hubId.replaceAll(/[^A-Za-z0-9_-]/g, "_")}.seen.json`);
}
