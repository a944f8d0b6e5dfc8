import assert from "node:assert/strict";
import type { Members, Reply } from "./home.ts";

/** An id that an answer has to carry. A refusal, read as the id "undefined", would be waited for until the test gives up. */
export function idIn({ body, text }: Pick<Reply, "body" | "text">, name: string): string {
  const id = body[name];
  return typeof id === "string" ? id : assert.fail(`no ${name} in ${text}`);
}

/** The same of a row that a command printed. */
export function idOf(row: Members | undefined, name: string): string {
  return idIn({ body: row ?? {}, text: JSON.stringify(row) ?? "no row" }, name);
}
