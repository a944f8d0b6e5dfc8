import { Fault } from "../../../kernel/failure.ts";

export interface Range {
  readonly start: number;
  readonly end: number;
}

/** Where the value at `path` stands. The text has been through the strict parser, so that only its shape is read here. */
export function findMember(text: string, path: readonly string[]): Range {
  let at = skipSpace(text, 0);
  for (const name of path) at = memberAt(text, at, name);
  return { start: at, end: endOf(text, at) };
}

function memberAt(text: string, object: number, name: string): number {
  let at = skipSpace(text, object + 1);
  while (text[at] === '"') {
    const nameEnd = endOf(text, at);
    const found = JSON.parse(text.slice(at, nameEnd)) === name;
    const value = skipSpace(text, skipSpace(text, nameEnd) + 1);
    if (found) return value;
    at = skipSpace(text, endOf(text, value));
    if (text[at] === ",") at = skipSpace(text, at + 1);
  }
  throw new Fault(`the member ${name} was parsed and is not in the text`);
}

function endOf(text: string, start: number): number {
  const first = text[start];
  if (first === '"') {
    let at = start + 1;
    while (text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
    return at + 1;
  }
  if (first !== "{" && first !== "[") {
    let at = start;
    while (at < text.length && !",]} \t\r\n".includes(text[at] ?? "")) at++;
    return at;
  }
  let depth = 0;
  for (let at = start; ; ) {
    const point = text[at];
    if (point === '"') at = endOf(text, at);
    else {
      if (point === "{" || point === "[") depth++;
      if (point === "}" || point === "]") depth--;
      at++;
      if (depth === 0) return at;
    }
  }
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && " \t\r\n".includes(text[at] ?? "")) at++;
  return at;
}
