import { sortText } from "./order.ts";

const SUBJECT = /\b(?:roles?|permissions?|scopes?)\b/i;
const LINE_CHARACTERS = 600;

/**
 * Role names that prose asks for. Many providers say in a sentence what their security schemes cannot:
 * "your credential must have one of the following roles:" and a list, or "requires the `x:write` scope".
 */
export function readRoles(description: string): readonly string[] {
  const found: string[] = [];
  let listing = false;
  for (const raw of description.split("\n")) {
    const line = raw.trim().slice(0, LINE_CHARACTERS);
    if (listing && line === "") continue;
    const item = listing ? listItem(line) : undefined;
    if (item !== undefined) {
      found.push(item);
      continue;
    }
    listing = false;
    if (!SUBJECT.test(line)) continue;
    if (line.endsWith(":")) listing = true;
    else if (/\b(?:require[sd]?|must have|needs?)\b/i.test(line)) found.push(...quoted(line));
  }
  return sortText(found);
}

function listItem(line: string): string | undefined {
  if (!line.startsWith("* ") && !line.startsWith("- ")) return undefined;
  const name = line.slice(2).replaceAll("`", "").replaceAll("*", "").trim();
  return name === "" ? undefined : name;
}

function quoted(line: string): readonly string[] {
  return line.split("`").filter((_, index) => index % 2 === 1 && index > 0);
}
