import assert from "node:assert/strict";
import { test } from "node:test";
import type { Verdict } from "../outcome/classify.ts";
import { type Push, writePush } from "./push.ts";
import { holdToReport } from "./report.ts";

const [A, B] = ["a1".repeat(20), "b2".repeat(20)];
const line = (text: string | Buffer): Buffer => {
  const bytes = Buffer.from(text as string);
  return Buffer.concat([Buffer.from((bytes.length + 4).toString(16).padStart(4, "0")), bytes]);
};
const FLUSH = Buffer.from("0000");
const report = (...lines: readonly string[]): Buffer => Buffer.concat([...lines.map(line), FLUSH]);
const band = (number: number, bytes: Buffer): Buffer => line(Buffer.concat([Buffer.of(number), bytes]));

function held(body: Buffer, refs: readonly string[], capabilities: Push["capabilities"] = ["report-status"]): string {
  const updates = refs.map((ref) => ({ ref: `refs/heads/${ref}`, old: A, new: B }));
  const sent = writePush({ shallow: [], updates, capabilities, options: [], packfile: Buffer.from("PACK") });
  const verdict = { kind: "success", observation: { kind: "answered", status: 200, body } } as unknown as Verdict;
  const { kind, reason } = holdToReport(verdict, sent) as Verdict & { readonly reason?: string };
  return reason === undefined ? kind : `${kind} ${reason}`;
}

const NO = "error provider_said_no";
const UNCLEAR = "unknown answer_unclear";

test("a push that moved no ref is the host's own no, whatever its status", () => {
  assert.equal(held(report("unpack ok\n", "ok refs/heads/a\n"), ["a"]), "success");
  assert.equal(held(report("unpack ok", "ok refs/heads/a"), ["a"]), "success", "some write no newline");
  assert.equal(held(report("unpack ok\n", "ng refs/heads/a hook declined\n"), ["a"]), NO);
  assert.equal(held(report("unpack index-pack failed\n", "ng refs/heads/a unpacker error\n"), ["a"]), NO);
  assert.equal(held(report("unpack ok\n", "ng refs/heads/a x\n", "ok refs/heads/b\n"), ["a", "b"]), "success");
});

test("a report of the second version may say more of a ref", () => {
  const said = ["unpack ok\n", "ok refs/heads/a\n", "option refname refs/heads/c\n", "option forced-update\n"];
  assert.equal(held(report(...said), ["a"], ["report-status-v2"]), "success");
});

test("a report that does not say it of each ref proves nothing", () => {
  const bodies = [
    ...[Buffer.alloc(0), FLUSH, Buffer.from("hello"), report("unpack ok\n"), report("ok refs/heads/a\n")],
    ...[report("unpack ok\n", "ok refs/heads/b\n"), report("unpack ok\n", "ok  refs/heads/a\n")],
    report("unpack ok\n", "ok refs/heads/a\n").subarray(0, -4),
  ];
  for (const body of bodies) assert.equal(held(body, ["a"]), UNCLEAR, body.toString());
});

test("the report is looked for in the band of the data, however it was cut", () => {
  const whole = report("unpack ok\n", "ng refs/heads/größe no\n");
  for (const at of [1, 5, whole.indexOf("ö") + 1]) {
    const pieces = [
      band(2, Buffer.from("ok refs/heads/größe\n")),
      band(1, whole.subarray(0, at)),
      band(1, whole.subarray(at)),
    ];
    assert.equal(held(Buffer.concat([...pieces, FLUSH]), ["größe"], ["report-status", "side-band-64k"]), NO);
  }
  assert.equal(held(whole, ["größe"], ["report-status", "side-band"]), UNCLEAR);
  assert.equal(
    held(Buffer.concat([band(3, Buffer.from("fatal: it broke")), FLUSH]), ["a"], ["report-status", "side-band"]),
    UNCLEAR,
  );
});

test("a push that asks for no report proves nothing", () => {
  for (const body of [Buffer.alloc(0), report("unpack ok\n", "ok refs/heads/a\n")])
    assert.equal(held(body, ["a"], ["quiet"]), UNCLEAR);
});
