import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { rawPublicOf } from "../audit/keys/raw.ts";
import { digestBytes } from "../kernel/canonical-json.ts";
import type { HubConnection } from "./connect.ts";
import { fetchLog, readHead, readPeerHead } from "./fetch-log.ts";
import { type LimitRow, readLimit } from "./limit-rows.ts";
import { type HeadStatement, signHubWith } from "./statement.ts";

const { privateKey } = generateKeyPairSync("ed25519");
const speaker = {
  ...{ hubId: "hub_1", gateway: "web1", vaultId: "vlt_1", logId: "log", joinedAt: "t1" },
  identityKey: rawPublicOf("ed25519", privateKey),
};
const head: HeadStatement = {
  ...{ format: "gw.hub-head/v1", hub_id: "hub_1", gateway: "web1", log_id: "log", tick: 1, segment: 1, offset: 8 },
  ...{ frame_end: 8, next_frame: 1, link: "", part: null, knows: { vault: 3, policy: 4 }, written_at: "t2" },
};

test("a head names what its gateway follows in whole numbers, or is none", () => {
  const read = (knows: unknown) => readHead(signHubWith({ ...head, knows } as HeadStatement, privateKey), speaker);
  assert.deepEqual(read({ vault: 3, policy: 4 })?.knows, head.knows);
  const odd = [null, {}, { vault: 3 }, { vault: "9", policy: 4 }, { vault: 3, policy: -1 }, { vault: 3, policy: 1.5 }];
  for (const knows of odd) assert.equal(read(knows), undefined, JSON.stringify(knows));
});

test("a head has the members that one has, in their kinds, or is none", () => {
  const { part: _part, ...partless } = head;
  const { link: _link, ...linkless } = head;
  const odd = [
    partless,
    linkless,
    { ...head, part: 5 },
    { ...head, part: {} },
    { ...head, link: 7 },
    { ...head, tick: "1" },
  ];
  for (const one of [...odd, { ...head, written_at: null }])
    assert.equal(readHead(signHubWith(one as HeadStatement, privateKey), speaker), undefined, JSON.stringify(one));
  assert.equal(readHead({ text: null, signature: null }, speaker), undefined);
});

test("a peer's head counts for its own name and hub, whichever log it is of", () => {
  const given = signHubWith(head, privateKey);
  assert.equal(readPeerHead(given, speaker)?.tick, 1);
  assert.equal(readHead(given, { ...speaker, logId: "another" }), undefined);
  for (const other of [{ gateway: "web2" }, { hubId: "hub_2" }])
    assert.equal(readPeerHead(given, { ...speaker, ...other }), undefined);
});

test("a head of a limit that was sealed rightly and says nothing is one that no gateway wrote", () => {
  const place = { hubId: "hub_1", vaultId: "vlt_1", name: "joint", day: "2026-01-01" };
  const row = { now_ms: 0, version: "1", login: null, gateway: null, serial: null, share: null };
  for (const said of ["not json", "[]", '{"serials":{"g0":"1"}}']) {
    const seal = { hide: () => "", seal: () => Buffer.alloc(0), open: () => Buffer.from(said) };
    const rows: readonly LimitRow[] = [{ ...row, head: Buffer.alloc(1) }];
    assert.throws(() => readLimit(rows, place, "g0", seal), { code: "hub_limit_tampered" }, said);
  }
});

test("a log that has no end is fetched as far as there is room for it", async () => {
  const bytes = Buffer.alloc(1_000);
  let asked = 0;
  const connection = {
    async ask(text: string) {
      if (text.includes("having count")) return [];
      const offset = asked++ * bytes.length;
      const part = { offset, digest: digestBytes(bytes) };
      const said = { ...head, tick: asked, offset: offset + bytes.length, part };
      const { text: statement, signature } = signHubWith(said, privateKey);
      return [{ segment: "1", at_offset: String(offset), bytes, statement, signature }];
    },
  } as unknown as HubConnection;
  const last = { ...head, tick: 1_000_000, offset: 1_000_000_000 };
  const folder = mkdtempSync(join(tmpdir(), "gw-fetch-"));
  try {
    const wrong = await fetchLog(connection, speaker, last, folder, null, 4_500);
    assert.deepEqual([wrong?.code, asked], ["no_room", 5]);
    assert.deepEqual(
      readdirSync(folder).map((name) => statSync(join(folder, name)).size),
      [4_000],
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});
