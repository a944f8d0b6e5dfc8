import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Secret } from "../../kernel/secret.ts";
import { anyText } from "../../kernel/testing/any-text.ts";
import { runsOf } from "../../kernel/testing/whole.ts";
import { prepareScreen } from "./echo.ts";

const SECRET = "sk-live/Ä+b%c_0123456789abcdef";

function screenOf(text = SECRET) {
  return prepareScreen([Secret.fromText(text)]).stream();
}

/** Cuts at the given places, and gives what came out, and whether the credential was seen. */
function run(text: Buffer, cuts: readonly number[]): { readonly out: Buffer; readonly seen: boolean } {
  const screen = screenOf();
  const out: Buffer[] = [];
  const places = [...new Set([0, ...cuts.map((cut) => cut % (text.byteLength + 1)), text.byteLength])].sort(
    (a, b) => a - b,
  );
  for (const [index, from] of places.entries()) {
    const piece = screen.take(text.subarray(from, places[index + 1] ?? from));
    if (piece === null) return { out: Buffer.concat(out), seen: true };
    out.push(piece);
  }
  out.push(screen.rest());
  return { out: Buffer.concat(out), seen: false };
}

const bytes = Buffer.from(SECRET, "utf8");
const percent = (text: string): string =>
  [...Buffer.from(text)].map((one) => `%${one.toString(16).padStart(2, "0")}`).join("");
const units = (text: string): string =>
  [...text].map((one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");
const FORMS: readonly string[] = [
  SECRET,
  bytes.toString("hex"),
  bytes.toString("base64"),
  Buffer.from(`me:${SECRET}`).toString("base64"),
  percent(SECRET),
  percent(percent(SECRET)),
  JSON.stringify(SECRET).slice(1, -1).replaceAll("/", "\\/"),
  units(SECRET),
  JSON.stringify(units(SECRET)).slice(1, -1),
  units(percent(percent(SECRET))),
];

test("a credential in a stream is seen in every form, wherever it is cut, and no beginning of it has left by then", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...FORMS),
      anyText({ maxLength: 60 }),
      fc.array(fc.nat(1_000_000), { maxLength: 40 }),
      (form, before, cuts) => {
        const lead = Buffer.from(before.replaceAll(/[%\\]/g, "x"), "utf8");
        const whole = Buffer.concat([lead, Buffer.from(form, "utf8"), Buffer.from("\n\ntail")]);
        const { out, seen } = run(whole, cuts);
        assert.equal(seen, true);
        // Base64 shares its first character with what stands before it; all else is held from the very first byte.
        assert.ok(out.byteLength <= lead.byteLength + 4, `${out.byteLength - lead.byteLength} bytes of it left`);
      },
    ),
    { numRuns: runsOf(2_000) },
  );
});

test("of a credential that holds another, no beginning leaves before the other is seen in it", () => {
  for (const order of [
    ["left-9f27c1e0-right", "9f27c1e0"],
    ["9f27c1e0", "left-9f27c1e0-right"],
  ]) {
    const screen = prepareScreen(order.map((text) => Secret.fromText(text))).stream();
    assert.equal(screen.take(Buffer.from("data: left-9f"))?.toString(), "data: ");
    assert.equal(screen.take(Buffer.from("27c1e0-right")), null);
    assert.equal(screen.rest().byteLength, 0);
  }
});

test("what holds no credential comes out byte for byte, however it is cut", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), fc.array(fc.nat(1_000), { maxLength: 30 }), (raw, cuts) => {
      const text = Buffer.from(raw);
      const { out, seen } = run(text, cuts);
      assert.equal(seen, false);
      assert.deepEqual(out, text);
    }),
    { numRuns: runsOf(2_000) },
  );
});

test("an event that ends is passed on at once: nothing of it waits for the next", () => {
  const screen = screenOf();
  for (const event of ['event: delta\ndata: {"text":"50% \\n of it, \\u00e4"}\n\n', "data: [DONE]\n\n"])
    assert.equal(screen.take(Buffer.from(event))?.toString(), event);
});

test("without a secret nothing is looked for and nothing held", () => {
  const screen = prepareScreen([]).stream();
  assert.equal(screen.take(Buffer.from("abc%"))?.toString(), "abc%");
});
