import { defaults } from "../../kernel/defaults.ts";

/** RFC 6901: one more reference token. Most names need no escaping, so look before replacing. */
export function appendPointer(path: string, name: string): string {
  if (!name.includes("~") && !name.includes("/")) return `${path}/${name}`;
  return `${path}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

/** A pointer into hostile input goes back to its sender: bounded, and marked where it was cut. */
export function shortenPointer(path: string): string {
  return path.length <= defaults.schemaFindingPathLength ? path : `${path.slice(0, defaults.schemaFindingPathLength)}…`;
}
