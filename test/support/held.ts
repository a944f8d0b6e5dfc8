import { join } from "node:path";
import { type Gateway, until } from "./home.ts";

/** Loaded first by a gateway of which `heldMiB` is asked (`home.upWith`). */
export const COLLECT = join(import.meta.dirname, "collect.ts");

/** What a gateway holds, without what only waits for its collector: its resident memory says more of its young generation than of a leak. */
export async function heldMiB({ pid, out }: Gateway): Promise<number> {
  const told = () => [...out().matchAll(/^in use (\d+)$/gm)].map(([, bytes]) => Number(bytes) / 2 ** 20);
  const before = told().length;
  process.kill(pid, "SIGUSR2");
  await until("it has looked", () => told().length > before);
  return told().at(-1) ?? Number.NaN;
}
