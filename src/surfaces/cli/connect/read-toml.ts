/**
 * As much of TOML 1.0 as is needed to change one table of a file and to refuse a file that is broken: where statements
 * begin and end, what they name, and that all of it is well formed. Values are checked and not kept.
 */
export interface TomlStatement {
  readonly kind: "key" | "table" | "tables";
  /** The whole path; for a key with the table it stands in. */
  readonly path: readonly string[];
  readonly start: number;
  /** After the end of its line. */
  readonly end: number;
}

export class TomlTrouble extends Error {
  override readonly name = "TomlTrouble";
}

const BARE = /[A-Za-z0-9_-]+/y;
const SCALAR = /[^,\]}\s#]+/y;
const DATE_REST = / [0-9:.+Z-]+/y;
const DEPTH = 32;

const scalars: readonly RegExp[] = [
  /^(?:true|false)$/,
  /^[+-]?(?:inf|nan)$/,
  /^[+-]?(?:0|[1-9](?:_?[0-9])*)(?:\.[0-9](?:_?[0-9])*)?(?:[eE][+-]?[0-9](?:_?[0-9])*)?$/,
  /^0x[0-9A-Fa-f](?:_?[0-9A-Fa-f])*$|^0o[0-7](?:_?[0-7])*$|^0b[01](?:_?[01])*$/,
  /^[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[Tt ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?(?:[Zz]|[+-][0-9]{2}:[0-9]{2})?)?$/,
  /^[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?$/,
];

/** Throws `TomlTrouble` with the line for what is not TOML. */
export function readToml(text: string): readonly TomlStatement[] {
  const statements: TomlStatement[] = [];
  const defined = new Set<string>();
  let at = 0;
  let table: readonly string[] = [];
  let serial = 0;
  let scope = "";

  while (at < text.length) {
    const start = at;
    skipBlank();
    if (atLineEnd()) {
      endLine();
      continue;
    }
    if (text[at] === "[") readHeader(start);
    else {
      const path = readKey();
      define(scope, [...table, ...path], "key");
      expect("=");
      skipBlank();
      readValue(0);
      endLine();
      statements.push({ kind: "key", path: [...table, ...path], start, end: at });
    }
  }
  return statements;

  function readHeader(start: number): void {
    at++;
    const many = text[at] === "[";
    if (many) at++;
    skipBlank();
    table = readKey();
    expect("]");
    if (many) expect("]");
    endLine();
    // Each element of an array of tables may define the same keys again.
    if (many) scope = `${++serial}`;
    else define(scope, table, "table");
    statements.push({ kind: many ? "tables" : "table", path: table, start, end: at });
  }

  function define(where: string, path: readonly string[], kind: "key" | "table"): void {
    const name = JSON.stringify([where, kind, path]);
    if (defined.has(name)) fail(`${path.join(".")} is defined twice`);
    defined.add(name);
  }

  function readKey(): readonly string[] {
    const path: string[] = [];
    for (;;) {
      skipBlank();
      path.push(text[at] === '"' || text[at] === "'" ? readQuotedKey() : match(BARE, "a key"));
      skipBlank();
      if (text[at] !== ".") return path;
      at++;
    }
  }

  function readQuotedKey(): string {
    const start = at;
    readString();
    const raw = text.slice(start, at);
    if (raw.startsWith('"""') || raw.startsWith("'''")) fail("a key cannot have several lines");
    if (raw.startsWith("'")) return raw.slice(1, -1);
    try {
      return JSON.parse(raw) as string;
    } catch {
      return fail("a key has an escape that is not understood here");
    }
  }

  function readValue(depth: number): void {
    if (depth > DEPTH) fail("values are nested too deeply");
    const first = text[at];
    if (first === '"' || first === "'") readString();
    else if (first === "[") readArray(depth);
    else if (first === "{") readInlineTable(depth);
    else readScalar();
  }

  function readScalar(): void {
    let word = match(SCALAR, "a value");
    DATE_REST.lastIndex = at;
    if (/^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(word)) {
      const rest = DATE_REST.exec(text)?.[0] ?? "";
      word += rest;
      at += rest.length;
    }
    if (!scalars.some((scalar) => scalar.test(word))) fail(`${word.slice(0, 40)} is not a value`);
  }

  function readString(): void {
    const quote = text[at] ?? "";
    const long = text.startsWith(quote.repeat(3), at);
    at += long ? 3 : 1;
    for (;;) {
      const point = text[at];
      if (point === undefined || (!long && (point === "\n" || point === "\r"))) fail("a string does not end");
      if (long ? text.startsWith(quote.repeat(3), at) : point === quote) break;
      if (quote === '"' && point === "\\") readEscape(long);
      else if (point < " " && point !== "\t" && !(long && (point === "\n" || point === "\r"))) {
        fail("a string holds a control character");
      } else at++;
    }
    at += long ? 3 : 1;
    // Up to two quotes may stand right before the three that end it.
    for (let extra = 0; long && extra < 2 && text[at] === quote; extra++) at++;
  }

  function readEscape(long: boolean): void {
    const rest = text.slice(at, at + 10);
    const found = /^\\(?:[btnfr"\\]|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8})/.exec(rest)?.[0];
    if (found !== undefined) at += found.length;
    else if (long && /^\\[ \t]*\r?\n/.test(text.slice(at, at + 200))) at++;
    else fail("a string holds an escape that TOML does not have");
  }

  function readArray(depth: number): void {
    at++;
    for (;;) {
      skipLines();
      if (text[at] === "]") break;
      readValue(depth + 1);
      skipLines();
      if (text[at] !== ",") break;
      at++;
    }
    expect("]");
  }

  function readInlineTable(depth: number): void {
    at++;
    skipBlank();
    const names = new Set<string>();
    while (text[at] !== "}") {
      const name = JSON.stringify(readKey());
      if (names.has(name)) fail("an inline table names a key twice");
      names.add(name);
      expect("=");
      skipBlank();
      readValue(depth + 1);
      skipBlank();
      if (text[at] !== ",") break;
      at++;
      skipBlank();
      if (text[at] === "}") fail("an inline table ends with a comma");
    }
    expect("}");
  }

  function expect(point: string): void {
    skipBlank();
    if (text[at] !== point) fail(`"${point}" is missing`);
    at++;
  }

  function match(pattern: RegExp, what: string): string {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0];
    if (found === undefined) return fail(`${what} is missing`);
    at += found.length;
    return found;
  }

  function skipBlank(): void {
    while (text[at] === " " || text[at] === "\t") at++;
  }

  function skipComment(): void {
    if (text[at] === "#") while (at < text.length && text[at] !== "\n") at++;
  }

  function skipLines(): void {
    for (;;) {
      skipBlank();
      skipComment();
      if (text[at] !== "\n" && text[at] !== "\r") return;
      at++;
    }
  }

  function atLineEnd(): boolean {
    const point = text[at];
    return point === undefined || point === "#" || point === "\n" || (point === "\r" && text[at + 1] === "\n");
  }

  function endLine(): void {
    skipBlank();
    if (!atLineEnd()) fail("something follows where the line should end");
    skipComment();
    if (text[at] === "\r") at++;
    if (text[at] === "\n") at++;
  }

  function fail(what: string): never {
    throw new TomlTrouble(`line ${text.slice(0, at).split("\n").length}: ${what}`);
  }
}
