import { existsSync, readFileSync } from "node:fs";
import { registerHooks } from "node:module";

/**
 * Loaded before the gateway (`node --import`): its waits are as long as HOME.waits says (by name, in ms) while that file is there. For
 * what is waited for in vain.
 */
const HURRIED = /\b(hubWaitMs|hubTurnMs): ([0-9_e]+)/g;
const file = `${process.argv[2]}.waits`;

function waitOf(name: string, usual: number): number {
  const waits = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Readonly<Record<string, number>>) : {};
  return waits[name] ?? usual;
}
Object.assign(globalThis, { [Symbol.for("gw.wait")]: waitOf });

registerHooks({
  load(url, context, next) {
    const loaded = next(url, context);
    if (!url.startsWith("file:") || loaded.source == null) return loaded;
    const text = String(loaded.source);
    const hurried = text.replace(HURRIED, `get $1() { return globalThis[Symbol.for("gw.wait")]("$1", $2); }`);
    return hurried === text ? loaded : { ...loaded, source: hurried };
  },
});
