import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { makeLogVectors, type VectorCase } from "../scripts/make-log-vectors.ts";
import { takePrivateKey } from "../src/audit/keys/raw.ts";
import { type LogItem, openReader } from "../src/audit/read/reader.ts";
import { verifyLog } from "../src/audit/verify/verify.ts";
import { freshFolder, removeFolders } from "./audit-kit.ts";

const vectors = join(import.meta.dirname, "vectors/log");
const expected = JSON.parse(readFileSync(join(vectors, "expected.json"), "utf8")) as {
  readonly operator_key: string;
  readonly reading_key: string;
  readonly auditor_key: string;
  readonly late_key: string;
  readonly root: string;
  readonly cases: readonly VectorCase[];
};
const operator = Buffer.from(expected.operator_key, "hex");
let python: string | undefined;

before(() => {
  for (const candidate of ["python3", "/usr/bin/python3"]) {
    try {
      execFileSync(candidate, ["-c", "pass"], { stdio: "ignore" });
      python ??= candidate;
    } catch {
      // Not on this machine.
    }
  }
});
after(removeFolders);

test("the checked-in vectors are what the script makes today, byte for byte", async () => {
  const fresh = join(freshFolder(), "log");
  await makeLogVectors(fresh);
  const names = (folder: string): string[] =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(folder.length))
      .sort();
  assert.deepEqual(names(fresh), names(vectors));
  for (const name of names(vectors)) {
    assert.ok(readFileSync(join(fresh, name)).equals(readFileSync(join(vectors, name))), name);
  }
});

for (const vector of expected.cases) {
  const name = `${vector.folder}${vector.allow_unattested ? ", unattested allowed" : ""}`;
  test(`vector ${name}: our verifier answers exit ${vector.exit}${vector.code === null ? "" : `, ${vector.code}`}`, async () => {
    const report = await verifyLog({
      folder: join(vectors, vector.folder),
      operators: [operator],
      allowUnattested: vector.allow_unattested,
      ...(vector.checkpoint ? { checkpoint: readFileSync(join(vectors, "checkpoint.txt"), "utf8") } : {}),
    });
    assert.deepEqual(
      [report.exit, report.firstBreach?.code ?? null, report.firstBreach?.frame ?? null, report.sealed?.frame ?? null],
      [vector.exit, vector.code, vector.frame, vector.sealed_frame],
    );
  });

  test(`vector ${name}: a verifier in another language, written from the page, answers the same`, (t) => {
    if (python === undefined) return t.skip("python3 is not on this machine");
    const args = [
      join(import.meta.dirname, "audit-vectors/verify.py"),
      join(vectors, vector.folder),
      expected.operator_key,
    ];
    if (vector.allow_unattested) args.push("--allow-unattested");
    if (vector.checkpoint) args.push("--checkpoint", join(vectors, "checkpoint.txt"));
    const answer = JSON.parse(execFileSync(python, args, { encoding: "utf8" })) as Record<string, unknown>;
    const { exit, code, frame, sealed_frame } = vector;
    assert.deepEqual(
      { exit: answer["exit"], code: answer["code"], frame: answer["frame"], sealed_frame: answer["sealed_frame"] },
      { exit, code, frame, sealed_frame },
    );
    if (vector.folder === "whole") assert.equal(answer["root"], expected.root);
  });
}

async function read(key: string): Promise<LogItem[]> {
  const items: LogItem[] = [];
  const reader = openReader(join(vectors, "whole"), takePrivateKey("x25519", Buffer.from(key, "hex")));
  for await (const item of reader) items.push(item);
  reader.close();
  return items;
}

function idsOf(items: readonly LogItem[]): string[] {
  return items.flatMap((item) => (item.kind === "record" ? [item.event.event_id] : []));
}

test("the reader of the whole log reads every record, the torn one not among them", async () => {
  const items = await read(expected.reading_key);
  assert.deepEqual(idsOf(items), [
    "evt_intent_1",
    "evt_done_1",
    "evt_intent_2",
    "evt_intent_3",
    "evt_intent_4",
    "evt_intent_5",
    "evt_done_2",
    "evt_intent_6",
    "evt_done_6",
  ]);
  assert.ok(items.every(({ kind }) => kind !== "unreadable"));
});

test("a second recipient reads the segments it was a recipient of, and is told of the others", async () => {
  const items = await read(expected.auditor_key);
  assert.equal(idsOf(items).length, 6);
  assert.deepEqual(
    items.flatMap((item) => (item.kind === "unreadable" ? [item.segment] : [])),
    [2, 3, 4],
  );
});

test("a recipient who came later reads everything through rewrapped seeds", async () => {
  assert.deepEqual(idsOf(await read(expected.late_key)), idsOf(await read(expected.reading_key)));
});
