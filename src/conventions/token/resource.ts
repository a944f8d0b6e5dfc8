import type { JsonObject } from "../../kernel/json.ts";

/** The inputs that a name of a resource has in braces. */
export function namesIn(text: string): readonly string[] {
  return partsOf(text).filter((_part, index) => index % 2 === 1);
}

/** The resource that a call is about. What is a wildcard or a variable to a policy stands for itself: no input can widen it. */
export function fillResource(text: string, input: JsonObject): string {
  return partsOf(text)
    .map((part, index) => (index % 2 === 0 ? part : literal(String(input[part] ?? ""))))
    .join("");
}

/** Text and names by turns; a brace that opens nothing is text. */
function partsOf(text: string): readonly string[] {
  return text.split(/\{([A-Za-z_][A-Za-z0-9_]{0,63})\}/);
}

function literal(value: string): string {
  return value.replaceAll(/[$*?]/g, (character) => `\${${character}}`);
}
