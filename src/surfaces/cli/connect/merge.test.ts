import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Denied } from "../../../kernel/failure.ts";
import { diffLines } from "./diff.ts";
import { mergeJson } from "./merge-json.ts";
import { mergeToml } from "./merge-toml.ts";

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
    `a = 1\n\n[mcp_servers.gw]\ncommand = "/opt/gw/bin/gw"\nargs = [ "mcp" ]\n\n# next\n[mcp_servers.gw.env]\nX = "1"\n`,
  );
});

test("comments and a comma too many stay in JSON, and what is none is refused with its line", () => {
  const text = `{\n  // ours to keep\n  "mcpServers": {\n    "other": {}, /* and this */\n  },\n}\n`;
  const merged = mergeJson(text, path, record, "file");
  for (const kept of ["// ours to keep", "/* and this */", '"other": {}', '"command": "/opt/gw/bin/gw"']) {
    assert.ok(merged.includes(kept), merged);
  }
  assert.equal(mergeJson(merged, path, record, "file"), merged);
  for (const wrong of ['{\n"a": }', "{\n", "[1]", "1", `${"[".repeat(100_000)}${"]".repeat(100_000)}`]) {
    assert.throws(() => mergeJson(wrong, path, record, "file"), { code: "client_config_invalid" });
  }
  assert.throws(() => mergeJson('{\n"a": }', path, record, "file"), /on line 2/);
});

test("every other table, value and comment of a TOML file stays, in every way that TOML has to say it", () => {
  const text = `
# comment
key = "value" # more
"quoted key".'other' = 1_000
big = 9007199254740993
many = """
[mcp_servers.gw]
two lines \\
   joined "" quotes"""
numbers = [ 0xDEAD_beef, 0b1101, 6.626e-34, -inf, nan, 1e06 # inside
]
dates = [1979-05-27T07:32:00Z, 1979-05-27, 07:32:00]
inline = { a.b = 1, c = { d = [ {}, { e = true } ] } }
[table . "sub table"]
a = false
[[array]]
a = 1
[[array]]
a = 2
`;
  const place = ["mcp_servers", "other"];
  const added = mergeToml(text, place, record, "file");
  assert.equal(added, `${text}\n[mcp_servers.other]\ncommand = "/opt/gw/bin/gw"\nargs = [ "mcp" ]\n`);
  const changed = mergeToml(added, place, { command: "new" }, "file");
  assert.equal(changed, `${text}\n[mcp_servers.other]\ncommand = "new"\n`);
});

test("a TOML file that says it in another way is left to a person", () => {
  for (const text of [
    'mcp_servers.gw.command = "x"\n',
    'mcp_servers = { gw = { command = "x" } }\n',
    "[[mcp_servers]]\na = 1\n",
    "[mcp_servers]\ngw = 1\n",
    '[mcp_servers]\ngw.command = "x"\n',
    'a = """\n[mcp_servers.gw]\n"""\n[mcp_servers.gw]\ncommand = "x"\n',
  ]) {
    assert.throws(
      () => mergeToml(text, ["mcp_servers", "gw"], record, "file"),
      { code: "client_config_invalid" },
      text,
    );
  }
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
    "a = {b = 1, b = 2}",
    "[a",
    "[a]\n[a]",
    "[]",
    "[[a]",
    "a.b = 1\na.b = 2",
    '"""k""" = 1',
    `a = ${"[".repeat(100_000)}${"]".repeat(100_000)}`,
  ]) {
    assert.throws(() => mergeToml(text, path, record, "file"), /not valid TOML \((?:line \d+: |nested)/, text);
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
