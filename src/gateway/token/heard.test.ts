import assert from "node:assert/strict";
import { test } from "node:test";
import type { TransportObservation } from "../../conventions/outcome/observation.ts";
import { defaults } from "../../kernel/defaults.ts";
import { asksForNonce, createHeard } from "./heard.ts";

const NOW = Date.parse("2026-11-18T12:00:00.000Z");
const API = "https://api.acme.example";

const answer = (headers: Readonly<Record<string, string>>, status = 200): TransportObservation => ({
  ...{ kind: "answered", status, headers, body: Buffer.alloc(0), remoteRequestId: null, elapsedMs: 1, withheld: null },
});
const silent: TransportObservation = { kind: "silent", reason: "timeout", detail: "", elapsedMs: 1 };
const dated = (skewMs: number) => answer({ date: new Date(NOW + skewMs).toUTCString() });

test("what a provider said counts for its credential and origin, until it says something else", () => {
  const heard = createHeard();
  assert.deepEqual([heard.nonce("one", API), heard.skewMs("one", API)], [null, null]);
  heard.note("one", API, answer({ "dpop-nonce": "n-1", date: new Date(NOW + 60_000).toUTCString() }), NOW);
  assert.deepEqual([heard.nonce("one", API), heard.skewMs("one", API)], ["n-1", 60_000]);
  for (const [label, origin] of [
    ["two", API],
    ["one", "https://other.example"],
  ] as const)
    assert.deepEqual([heard.nonce(label, origin), heard.skewMs(label, origin)], [null, null]);
  heard.note("one", API, answer({}), NOW);
  heard.note("one", API, silent, NOW);
  assert.deepEqual([heard.nonce("one", API), heard.skewMs("one", API)], ["n-1", 60_000], "silence takes nothing back");
  heard.note("one", API, answer({ "dpop-nonce": "n-2" }), NOW);
  assert.deepEqual([heard.nonce("one", API), heard.skewMs("one", API)], ["n-2", 60_000]);
  heard.note("one", API, dated(120_000), NOW);
  assert.deepEqual([heard.nonce("one", API), heard.skewMs("one", API)], ["n-2", 120_000]);
  heard.clear();
  assert.deepEqual([heard.nonce("one", API), heard.skewMs("one", API)], [null, null]);
});

test("a nonce is what the standard lets one be, and nothing else", () => {
  const heard = createHeard();
  for (const nonce of ["", "a b", 'a"b', "a\\b", "é", "n".repeat(513)]) {
    heard.note("one", API, answer({ "dpop-nonce": nonce }), NOW);
    assert.equal(heard.nonce("one", API), null, nonce);
  }
  heard.note("one", API, answer({ "dpop-nonce": "n".repeat(512) }), NOW);
  assert.equal(heard.nonce("one", API), "n".repeat(512));
});

test("a clock that is a little off counts as ours, one that is off by more than a day is not believed", () => {
  const skewOf = (observation: TransportObservation): number | null => {
    const heard = createHeard();
    heard.note("one", API, observation, NOW);
    return heard.skewMs("one", API);
  };
  assert.deepEqual(
    [0, 4_000, -4_000, 5_000, -5_000].map((skewMs) => skewOf(dated(skewMs))),
    [0, 0, 0, 5_000, -5_000],
  );
  const { tokenSkewMs } = defaults;
  assert.deepEqual(
    [tokenSkewMs, -tokenSkewMs, tokenSkewMs + 1_000].map((ms) => skewOf(dated(ms))),
    [tokenSkewMs, -tokenSkewMs, null],
  );
  for (const date of ["", "yesterday"]) assert.equal(skewOf(answer({ date })), null);
});

test("an API asks for a nonce by refusing for it and naming one", () => {
  const asks = { "www-authenticate": 'DPoP error="use_dpop_nonce"', "dpop-nonce": "n-1" };
  assert.equal(asksForNonce(answer(asks, 401)), true);
  assert.equal(asksForNonce(answer(asks, 400)), false);
  assert.equal(asksForNonce(answer({ ...asks, "www-authenticate": "DPoP" }, 401)), false);
  assert.equal(asksForNonce(answer({ "dpop-nonce": "n-1" }, 401)), false);
  assert.equal(asksForNonce(answer({ ...asks, "dpop-nonce": "a b" }, 401)), false);
  assert.equal(asksForNonce(silent), false);
});

test("so many are remembered, and the one that said nothing new for longest makes room", () => {
  const heard = createHeard();
  for (let at = 0; at < 256; at++) heard.note(`label ${at}`, API, answer({ "dpop-nonce": `n-${at}` }), NOW);
  heard.note("label 1", API, answer({ "dpop-nonce": "newer" }), NOW);
  heard.note("label 0", API, answer({ "dpop-nonce": "n-0" }), NOW);
  assert.equal(heard.nonce("label 0", API), "n-0");
  heard.note("one more", API, answer({ "dpop-nonce": "n" }), NOW);
  assert.deepEqual(
    ["label 0", "label 1", "label 2", "one more"].map((label) => heard.nonce(label, API)),
    [null, "newer", "n-2", "n"],
  );
});
