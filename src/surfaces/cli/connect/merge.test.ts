import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Denied } from "../../../kernel/failure.ts";
import { diffLines } from "./diff.ts";
import { mergeJson } from "./merge-json.ts";
import { mergeToml } from "./merge-toml.ts";
import { readToml, TomlTrouble } from "./read-toml.ts";

const record = { command: "/opt/gw/bin/gw", args: ["mcp"] };
const path = ["mcpServers", "gw"];

/** Objects whose names include those on the way, so that every kind of place is met. */
const { object } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.string(),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    tie("object"),
    fc.array(tie("value"), { maxLength: 3 }),
  ),
  object: fc.dictionary(
    fc.oneof(
      fc.constantFrom("mcpServers", "gw", "a", 'q"uote', "br{ce"),
      fc.string().filter((name) => name !== "__proto__"),
    ),
    tie("value"),
    { maxKeys: 4 },
  ),
}));

test("merging JSON changes what it should, and removing it again gives the rest byte for byte", () => {
  fc.assert(
    fc.property(object, fc.constantFrom(undefined, 2, 4, "\t"), fc.boolean(), (before, indent, windows) => {
      const text = JSON.stringify(before, null, indent).replaceAll("\n", windows ? "\r\n" : "\n");
      const servers = (before as Record<string, unknown>)["mcpServers"];
      if (servers !== undefined && (typeof servers !== "object" || servers === null || Array.isArray(servers))) {
        assert.throws(() => mergeJson(text, path, record, "file"), Denied);
        return;
      }
      const merged = mergeJson(text, path, record, "file");
      const value = JSON.parse(merged) as { mcpServers: { gw: object } };
      assert.deepEqual(value.mcpServers.gw, record);
      const expected = { ...(before as object), mcpServers: { ...servers, gw: record } };
      assert.deepEqual(value, JSON.parse(JSON.stringify(expected)));
      // One run of bytes was put in or exchanged: what stands before and after it is what stood there.
      let top = 0;
      while (text[top] === merged[top] && top < text.length) top++;
      let tail = 0;
      while (tail < text.length - top && text.at(-1 - tail) === merged.at(-1 - tail)) tail++;
      if (servers === undefined || !("gw" in servers)) {
        const gone = text.slice(top, text.length - tail);
        assert.equal(gone.trim(), "");
      }
    }),
  );
});

test("an empty file becomes a whole one", () => {
  assert.deepEqual(JSON.parse(mergeJson(" \n", path, record, "file")), { mcpServers: { gw: record } });
  assert.match(mergeToml("", ["mcp_servers", "gw"], record, "file"), /^\[mcp_servers\.gw\]\ncommand = /);
});

test("a TOML table is exchanged where it stands, and tables below it and comments stay", () => {
  const text = `a = 1\n\n[mcp_servers.gw] # ours\ncommand = "old"\nextra = [\n 1, # one\n]\n\n# next\n[mcp_servers.gw.env]\nX = "1"\n`;
  const merged = mergeToml(text, ["mcp_servers", "gw"], record, "file");
  assert.equal(
    merged,
    `a = 1\n\n[mcp_servers.gw]\ncommand = "/opt/gw/bin/gw"\nargs = ["mcp"]\n\n# next\n[mcp_servers.gw.env]\nX = "1"\n`,
  );
});

test("what TOML 1.0 allows is read", () => {
  const text = `
# comment
key = "value" # more
bare_key-1 = 'C:\\path'
"quoted key".'other' = 1_000
many = """
two lines \\
   joined "" quotes"""
raw = '''
' and '' '''
numbers = [ +1, -17, 0x_f, 1 ]
`;
  assert.throws(() => readToml(text), TomlTrouble);
  const good = text.replace("0x_f", "0xDEAD_beef, 0o755, 0b1101, 6.626e-34, -inf, nan, 1e06 # inside\n");
  const statements = readToml(`${good}
dates = [1979-05-27T07:32:00Z, 1979-05-27 00:32:00.999999-07:00, 1979-05-27, 07:32:00]
inline = { a.b = 1, c = { d = [ {}, { e = true } ] } }
[table . "sub table"]
a = false
[[array]]
a = 1
[[array]]
a = 2
`);
  assert.deepEqual(
    statements.map(({ kind, path: name }) => `${kind} ${name.join("/")}`),
    [
      "key key",
      "key bare_key-1",
      "key quoted key/other",
      "key many",
      "key raw",
      "key numbers",
      "key dates",
      "key inline",
      "table table/sub table",
      "key table/sub table/a",
      "tables array",
      "key array/a",
      "tables array",
      "key array/a",
    ],
  );
});

test("what is no TOML is refused, with its line", () => {
  for (const text of [
    "a",
    "a =",
    "= 1",
    "a = 1 b = 2",
    "a = 01",
    "a = 1__0",
    "a = tru",
    'a = "x',
    'a = "\\q"',
    'a = "\u0001"',
    "a = 'x\n'",
    "a = [1, 2",
    "a = [1 2]",
    "a = {b = 1,}",
    "a = {b = 1, b = 2}",
    "[a",
    "[a]\n[a]",
    "[]",
    "[[a]",
    "a.b = 1\na.b = 2",
    '"""k""" = 1',
    `a = ${"[".repeat(100)}${"]".repeat(100)}`,
  ]) {
    assert.throws(() => readToml(text), /^TomlTrouble: line \d+: /, text);
  }
});

test("no text makes the readers do anything but answer or refuse", () => {
  const piece = fc.constantFrom(
    "[",
    "]",
    "{",
    "}",
    '"',
    "'",
    "=",
    ".",
    ",",
    "\n",
    " ",
    "a",
    "1",
    "\\",
    "#",
    '"""',
    "-",
    ":",
    "é",
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      const text = pieces.join("");
      try {
        readToml(text);
      } catch (error) {
        assert.ok(error instanceof TomlTrouble);
      }
      for (const merge of [mergeJson, mergeToml]) {
        try {
          merge(text, path, record, "file");
        } catch (error) {
          assert.ok(error instanceof Denied, String(error));
        }
      }
    }),
  );
});

test("the difference shows what goes, what comes and a little around it", () => {
  assert.deepEqual(diffLines("a\n", "a\n"), []);
  assert.deepEqual(diffLines("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nX\n6\n7\n8\n9\n"), [
    "@@ line 5 @@",
    "  2",
    "  3",
    "  4",
    "- 5",
    "+ X",
    "  6",
    "  7",
    "  8",
  ]);
  assert.deepEqual(diffLines("", "a\nb\n"), ["@@ line 1 @@", "+ a", "+ b"]);
});
