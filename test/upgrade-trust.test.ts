import assert from "node:assert/strict";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { digestJson } from "../src/kernel/canonical-json.ts";
import type { JsonObject } from "../src/kernel/json.ts";
import { asUser, codeOf, type Members } from "./support/home.ts";
import { startTrustStand, type TrustStand, told, why } from "./support/upgrade-trust.ts";

describe("a pack of another version is trusted after a finished review", asUser, () => {
  let stand: TrustStand;
  before(async () => {
    stand = await startTrustStand();
  });
  after(() => stand?.close());

  test("a pack of another version is trusted only after the last decision about exactly this change", async () => {
    const { home, at, pack, add, trust, probe } = stand;
    await home.trustPack("acme", pack("2026-04-01"));
    await add(pack("2026-10-01"));
    await probe("report.json", "acme-main");
    assert.deepEqual(await trust(), [1, "authority_increase"], "what the probe disabled blocks the upgrade");
    await home.must(["credential", "enable", "acme-main"]);
    assert.deepEqual(await trust(), [1, "upgrade_undecided"]);
    const reviews = ["--reviews", at("reviews.yaml")];
    const about = ["--probe", at("report.json"), ...reviews];
    assert.deepEqual(
      await trust(...reviews, "--without-evidence"),
      [1, "upgrade_undecided"],
      "a version is not waved on",
    );
    const decide = ["upgrade", "decide", "--trust", "acme", ...about];
    const open = JSON.parse((await home.operator([...decide, "--json"])).out) as readonly Members[];
    assert.deepEqual(
      open.map(({ kind }) => kind).filter((kind) => kind === "pack_term_changed" || kind === "whole_review"),
      ["pack_term_changed", "whole_review"],
    );
    const ids = open.filter(({ kind }) => kind !== "whole_review").map(({ id }) => String(id));
    const wordless = await home.run([...decide, "--accept", ...ids]);
    assert.equal(codeOf(wordless), "review_file_invalid", "before a passphrase is typed for it");
    const early = await home.run([...decide, "--finish", ...why]);
    assert.deepEqual([early.code, codeOf(early)], [1, "upgrade_undecided"]);
    const mistyped = await home.run([...decide, "--accept", ...why, "d-nope"]);
    assert.equal(codeOf(mistyped), "difference_unknown", "no file is looked for under it");
    const last = open.find(({ kind }) => kind === "whole_review");
    const among = await home.run([...decide, "--accept", ...why, ...ids, String(last?.id)]);
    assert.match(among.err, /^difference_unknown: d-[0-9a-f]{16} is the whole review:[\s\S]*--finish/);
    const decided = await home.operator([...decide, "--accept", ...why, ...ids]);
    assert.match(decided.out, /Blocked: every difference is decided;[\s\S]*--finish/);
    assert.deepEqual(await trust(...about), [1, "upgrade_undecided"], "the whole is not signed yet");
    await home.must([...decide, "--finish", ...why]);
    const events = await home.events("upgrade_decided");
    assert.equal(events.length, ids.length + 1);
    assert.ok(events.every(({ signature }) => /^[A-Za-z0-9+/]{86}==$/.test(String(signature))));
    await add(pack("2026-10-01", "  # another file\n"));
    assert.deepEqual(await trust(...about), [1, "upgrade_undecided"], "the review was of other bytes");
    await add(pack("2026-10-01"));
    const { probe: signed } = JSON.parse(readFileSync(at("report.json"), "utf8")) as { readonly probe: Members };
    const finished = (await home.events("upgrade_probe_finished")).map(({ result_digest }) => result_digest);
    assert.deepEqual(finished, [digestJson(signed as JsonObject), digestJson(signed as JsonObject)], "one a version");
    const twin = home.copy();
    rmSync(join(twin.folder, "audit"), { recursive: true });
    mkdirSync(join(twin.folder, "audit"));
    const unlogged = await twin.operator(["pack", "trust", "acme", ...about]);
    assert.deepEqual([unlogged.code, codeOf(unlogged)], [1, "review_mismatch"], "a probe that no log here knows");
    // A no that was taken out of the file again leaves the yes before it, and the log has both.
    const finishedFile = readFileSync(at("reviews.yaml"));
    const [first = ""] = ids;
    await home.must([...decide, "--reject", ...why, first]);
    assert.deepEqual(await trust(...about), [1, "upgrade_refused"]);
    writeFileSync(at("reviews.yaml"), finishedFile);
    assert.deepEqual(await trust(...about), [1, "review_mismatch"]);
    await home.must([...decide, "--accept", ...why, first]);
    assert.deepEqual(await trust(...about), [0, null]);
  });

  test("a pack that was removed and added again is reviewed against what was trusted last", async () => {
    const { home, pack, add, trust } = stand;
    await home.must(["pack", "remove", "acme"]);
    await add(pack("2026-04-01"));
    assert.deepEqual(await trust(), [1, "upgrade_undecided"]);
    await home.must(["pack", "remove", "acme"]);
    await add(pack("2026-10-01").replace("effect: read", "effect: read\n    description: other words"));
    assert.deepEqual(await trust(), [1, "upgrade_undecided"]);
    await home.trustPack("acme", `${pack("2026-10-01")}\n# a comment\n`);
  });

  test("a home that is older than kept copies keeps what was trusted when another pack is added", async () => {
    const { home, pack, add } = stand;
    rmSync(join(home.folder, "packs", "trusted", "acme.yaml"));
    await add(pack("2026-10-01").replace("effect: read", "effect: read\n    description: other words"));
    const review = await home.run(["upgrade", "review", "--trust", "acme", "--json"]);
    assert.deepEqual(
      [review.code, told(review.out)],
      [1, ["pack_term_changed action acme.project.list|description", "whole_review pack acme|"]],
    );
  });

  test("another name is no way around the review: a pack that goes where a trusted one went is compared with it", async () => {
    const { home, at, pack } = stand;
    const trust = async (name: string, text: string, ...args: readonly string[]): Promise<string | null> => {
      writeFileSync(at(`${name}.yaml`), text.replace("pack: acme", `pack: ${name}`));
      assert.equal((await home.run(["pack", "add", at(`${name}.yaml`)])).code, 0);
      const done = await home.operator(["pack", "trust", name, ...args]);
      return done.code === 0 ? null : codeOf(done);
    };
    await home.must(["pack", "remove", "acme"]);
    assert.equal(await trust("fresh", pack("2027-01-01")), "upgrade_undecided", "another version under another name");
    const more = `  project.drop:
    effect: write
    request: { method: DELETE, path: "/v1/projects/{id}" }
    input: { id: { in: path, type: string, maxLength: 64 } }`;
    const aside = ["--beside", "acme"];
    assert.equal(
      await trust("wider", pack("2026-10-01", more), ...aside),
      "upgrade_undecided",
      "it is no mere addition",
    );
    const review = await home.run(["upgrade", "review", "--trust", "wider", "--json"]);
    assert.deepEqual(told(review.out), [
      "action_added action wider.project.drop|",
      "pack_beside pack wider|",
      "whole_review pack wider|",
    ]);
    assert.equal(await trust("same", pack("2026-10-01")), null, "the same requests ask for nothing new");
    const added = `${pack("2026-10-01").split("actions:")[0]}actions:\n${more}`;
    assert.equal(await trust("added", added), "upgrade_undecided", "nobody said that it is wanted beside the other");
    const said = await home.operator(["pack", "trust", "added"]);
    assert.match(said.err, /^Against \S+, another pack for the same place:$/m);
    assert.doesNotMatch(said.err, /The action is gone/, "what it stands beside keeps its own");
    const [, beside] = /gw pack trust added --beside (\S+)$/m.exec(said.err.trim()) ?? [];
    assert.equal(await trust("added", added, "--beside", String(beside)), null, "the command that was told works");
    rmSync(join(home.folder, "packs", "trusted"), { recursive: true });
    const elsewhere = pack("2026-10-01").replace(/origin: .*/, "origin: https://api.other.example");
    assert.equal(await trust("elsewhere", elsewhere), "upgrade_undecided", "nobody can say where acme went any more");
  });
});
