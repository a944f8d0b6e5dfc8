import { parse } from "yaml";

/** In a file of its own: loaded only where there is a configuration, and by its name also in the bundled programs. */
export function readYaml(text: string): unknown {
  return parse(text, { strict: true, uniqueKeys: true, maxAliasCount: 0 });
}
