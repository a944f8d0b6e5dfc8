import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { MIMEType } from "node:util";
import { Denied } from "../../../src/kernel/failure.ts";
import { readMediaType } from "./media-type.ts";

const folder = resolve(import.meta.dirname, "../../../../shared/vectors/wpt-mimesniff/data-url/tests");
const skip = existsSync(folder) ? false : `no public vectors at ${folder}`;

/** The policy in other words than the code's, for types other than multipart. */
const POLICY = /^[ \t\r\n]*[!-:<-~]+[ \t\r\n]*(?:;[ \t]*charset=("?)utf-8\1[ \t\r\n]*)?$/i;

function essence(field: string): string | undefined {
  try {
    return readMediaType(field).essence;
  } catch (error) {
    assert.ok(error instanceof Denied && error.code === "media_type_unsupported", String(error));
    return undefined;
  }
}

test("charset=utf-8 is accepted in any case or quoting and normalized away", () => {
  for (const field of [
    "application/json",
    "Application/JSON",
    "application/json;charset=utf-8",
    "application/json; charset=UTF-8",
    'application/json; charset="utf-8"',
    "application/json ; CHARSET=utf-8",
    " application/json ",
  ]) {
    assert.deepEqual(readMediaType(field), { essence: "application/json", boundary: undefined }, field);
  }
});

test("every other parameter, and every parameter that is not whole, is refused", () => {
  for (const field of [
    "application/json; charset=utf8",
    "application/json; charset=utf-8; charset=utf-8",
    "application/json; version=1",
    "application/json; boundary=x",
    "application/json;",
    "application/json; charset",
    'application/json; charset="utf-8',
    'application/json; charset="utf-8"x',
    'application/json; charset="ut\\f-8"',
    "application/json; charset*=utf-8''utf-8",
    "text/html, application/json",
    "",
  ]) {
    assert.equal(essence(field), undefined, field);
  }
});

test("a multipart boundary is one of RFC 2046", () => {
  assert.equal(readMediaType('multipart/form-data; boundary="a b"').boundary, "a b");
  assert.equal(readMediaType(`multipart/form-data; boundary=${"x".repeat(70)}`).boundary?.length, 70);
  for (const boundary of ['""', '"a "', "x".repeat(71), '"a;b"', '"a\u00e9"', "a{b"]) {
    assert.equal(essence(`multipart/form-data; boundary=${boundary}`), undefined, boundary);
  }
});

test("of the public vectors only those pass whose meaning is the bare type, and with that meaning", { skip }, () => {
  let passed = 0;
  let refused = 0;
  for (const name of ["mime-types.json", "generated-mime-types.json"]) {
    const vectors: unknown = JSON.parse(readFileSync(join(folder, name), "utf8"));
    assert.ok(Array.isArray(vectors));
    for (const vector of vectors) {
      if (typeof vector === "string") continue;
      const { input, output } = vector as { readonly input: string; readonly output: string | null };
      const ours = essence(input);
      assert.equal(ours !== undefined, output !== null && POLICY.test(input), input);
      if (ours === undefined) {
        refused++;
        continue;
      }
      passed++;
      assert.ok(output !== null, `${input} is no media type`);
      const type = new MIMEType(output);
      assert.equal(ours, type.essence, input);
      const rest = [...type.params].filter(([key, value]) => !(key === "charset" && value.toLowerCase() === "utf-8"));
      assert.deepEqual(rest, [], input);
    }
  }
  assert.ok(passed >= 1 && refused > 300, `${passed} passed, ${refused} were refused`);
});
