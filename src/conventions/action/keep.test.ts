import assert from "node:assert/strict";
import { test } from "node:test";
import { digestText } from "../../kernel/canonical-json.ts";
import type { JsonObject } from "../../kernel/json.ts";
import { hideOpaque } from "./keep.ts";
import { readPack } from "./read.ts";

const { pack } = readPack(
  Buffer.from(`format: gw.pack/v1
pack: acme
provider:
  origin: https://acme.example
  credential: acme
  auth: { scheme: bearer }
actions:
  door.look:
    effect: read
    request: { method: GET, path: "/doors/{pin}" }
    input:
      pin: { in: path, type: string, sensitive: true }
      hint: { in: query, type: string, sensitive: true, optional: true }
      old: { in: query, type: array, items: { type: string }, sensitive: true, optional: true }
`),
  "pack.yaml",
);
const action = pack?.actions.get("door.look") ?? assert.fail();
const hide = (args: JsonObject, url: string): string => hideOpaque(action, args, url);
const standIn = (text: string): string =>
  `sensitive-${Buffer.byteLength(text)}-bytes-${digestText(text).replace(":", "-")}`;

test("a sensitive value does not stand in an address, whichever characters of it are escaped there", () => {
  const pin = "pa*ss/w\u00f6rd !~";
  for (const spelled of [
    "pa*ss/w%C3%B6rd%20!~",
    "pa%2Ass%2Fw%C3%B6rd%20%21~",
    "pa*ss%2Fw%c3%b6rd+%21%7E",
    "%70a%2ass/w%C3%B6rd+!~",
  ])
    assert.equal(
      hide({ pin }, `https://other.example/x/${spelled}?a=b`),
      `https://other.example/x/${standIn(pin)}?a=b`,
    );
  const old = ["first-one", "second*one"];
  const list = standIn('["first-one","second*one"]');
  assert.equal(
    hide({ pin, old }, "https://acme.example/?o=first-one&o=second%2Aone&p=first-one%2Csecond*one"),
    `https://acme.example/?o=${list}&o=${list}&p=${list}%2C${list}`,
  );
});

test("an origin is shown as it is, whatever value was chosen", () => {
  assert.equal(
    hide({ pin: "evil.example", hint: "https" }, "https://evil.example/a?to=evil.example"),
    `https://evil.example/a?to=${standIn("evil.example")}`,
  );
});

test("what stands in for a value is not searched for others, and does not grow without end", () => {
  assert.equal(
    hide({ pin: "e", hint: "sensitive" }, "https://acme.example/e/sensitive"),
    `https://acme.example/${standIn("e")}/${standIn("sensitive")}`,
  );
  assert.equal(hide({ pin: "e", hint: "s" }, `https://acme.example/${"es".repeat(2_000)}`), "https://acme.example/…");
});

test("of an address that long values may stand in, the origin alone is shown", () => {
  const url = `https://evil.example/${"e".repeat(8_000)}`;
  for (const pin of ["e".repeat(8_000), "\u{1f600}".repeat(4_000)])
    assert.equal(hide({ pin }, url), "https://evil.example/…");
});
