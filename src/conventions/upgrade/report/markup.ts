import { showText } from "../../../kernel/display.ts";

/** Markup that was built here. Everything else that enters a page is text, and is escaped. */
export interface Markup {
  readonly markup: string;
}

type Part = Markup | string | number | null | undefined | readonly Part[];

/** The only way to make markup: what stands in the template is ours, what is put in is not. */
export function html(template: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  let markup = template[0] ?? "";
  for (const [index, part] of parts.entries()) markup += render(part) + (template[index + 1] ?? "");
  return { markup };
}

function render(part: Part): string {
  if (part === null || part === undefined) return "";
  if (typeof part === "number") return String(part);
  if (typeof part === "string") return escapeText(part);
  return "markup" in part ? part.markup : part.map(render).join("");
}

/** Provider text: what could act on a reader is written out first, then what could act on the page. */
export function escapeText(text: string): string {
  return text
    .split("\n")
    .map(showText)
    .join("\n")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#39;");
}
