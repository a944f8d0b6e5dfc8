import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { asUser, codeOf, type Members } from "./support/home.ts";
import { startTrustStand, type TrustStand, told, why } from "./support/upgrade-trust.ts";

describe(
  "a changed pack needs evidence about what changed, and a narrower identity is one that was seen to be",
  asUser,
  () => {
    let stand: TrustStand;
    before(async () => {
      stand = await startTrustStand();
    });
    after(() => stand?.close());

    test("a narrower identity exists, is used by the pack, and was seen to be denied where the other is let in", async () => {
      const { home, at, reference, probe } = stand;
      await home.addCredential("acme-narrow", reference.origin);
      await probe("report.json", "acme-main");
      await home.must(["credential", "enable", "acme-main"]);
      await probe("narrow.json", "acme-narrow", ["integrations:read"]);
      const files = ["--report", at("report.json"), "--reviews", at("narrow-reviews.yaml")];
      const found = (
        JSON.parse(readFileSync(at("report.json"), "utf8")) as { readonly differences: readonly Members[] }
      ).differences;
      const exported = String(found.find(({ subject }) => subject === "probe new.export")?.["id"]);
      // Whoever signs a group signs what the probe put there: one entry moved into another group takes the whole back.
      const [other] = found.filter(({ group }) => group !== found.find(({ id }) => id === exported)?.["group"]);
      const moved = found.map((one) => (one["id"] === exported ? { ...one, group: other?.["group"] } : one));
      const report = JSON.parse(readFileSync(at("report.json"), "utf8")) as Members;
      writeFileSync(at("moved.json"), JSON.stringify({ ...report, differences: moved }));
      const signed = await home.operator([
        ...["upgrade", "decide", "--report", at("moved.json"), "--reviews", at("narrow-reviews.yaml")],
        ...[String(other?.["group"]), "--accept", ...why],
      ]);
      assert.deepEqual([signed.code, codeOf(signed)], [1, "review_file_invalid"]);
      assert.deepEqual(await home.events("upgrade_decided"), []);
      const narrow = async (label: string, ...extra: readonly string[]) => {
        const answer = await home.operator([
          "upgrade",
          "decide",
          ...files,
          exported,
          "--narrow",
          label,
          ...why,
          ...extra,
        ]);
        return [answer.code, answer.code === 0 ? null : codeOf(answer)];
      };
      const proof = ["--proof", at("narrow.json")];
      const unproven = [1, "narrowing_unproven"];
      assert.deepEqual(await narrow("acme-nowhere", ...proof), unproven, "no such credential");
      assert.deepEqual(await narrow("acme-narrow", ...proof), [0, null]);
    });

    const LIST = `  integration.list:
    effect: read
    request: { method: GET, path: /v1/integrations }
`;
    const document = (version: string, paths: readonly string[]): string =>
      JSON.stringify({
        openapi: "3.1.0",
        info: { title: "Reference", version },
        servers: [{ url: stand.reference.origin }],
        paths: Object.fromEntries(
          paths.map((path) => [path, { get: { responses: { "200": { description: "ok" } } } }]),
        ),
      });

    test("a new action needs a document that has it, a probe that saw it, or a signature that there is neither", async () => {
      const { home, at, pack, add, trust } = stand;
      await home.trustPack("acme", pack("2026-10-01"));
      await add(pack("2026-10-01", LIST));
      const reviews = ["--reviews", at("new-action.yaml")];
      const bare = await home.run(["upgrade", "review", "--trust", "acme", "--json"]);
      assert.deepEqual(
        [bare.code, told(bare.out)],
        [1, ["action_added action acme.integration.list|", "whole_review pack acme|"]],
      );
      const paths = ["/v1/projects", "/v1/projects/{id}"];
      writeFileSync(at("old.json"), document("1", paths));
      writeFileSync(at("other.json"), document("1", ["/elsewhere"]));
      writeFileSync(at("new.json"), document("2", [...paths, "/v1/integrations"]));
      assert.deepEqual(await trust(at("other.json"), at("new.json"), ...reviews), [1, "review_mismatch"]);
      assert.deepEqual(
        await trust("--probe", at("report.json"), ...reviews),
        [1, "review_mismatch"],
        "that probe compared with the version before the trusted one",
      );
      const review = ["upgrade", "review", at("old.json"), at("new.json"), "--trust", "acme", "--json"];
      const report = await home.run(review);
      assert.equal(report.code, 1);
      assert.deepEqual(told(report.out), [
        "action_added action acme.integration.list|",
        "operation_added GET /v1/integrations|",
        "whole_review pack acme|",
      ]);
      const decide = ["upgrade", "decide", at("old.json"), at("new.json"), "--trust", "acme", ...reviews];
      const open = JSON.parse((await home.operator([...decide, "--json"])).out) as readonly Members[];
      const ids = open.map(({ id }) => String(id)).slice(0, -1);
      await home.must([...decide, "--accept", ...why, ...ids.slice(1)]);
      const proofs = ["--narrow", "acme-narrow", "--against", at("report.json"), "--proof", at("narrow.json")];
      await home.must([...decide, ...proofs, ...why, ids[0] ?? ""]);
      await home.must([...decide, "--finish", ...why]);
      assert.deepEqual(
        await trust(at("old.json"), at("new.json"), ...reviews),
        [1, "narrowing_unproven"],
        "the pack does not present what it was narrowed to",
      );
      await home.must([...decide, "--accept", ...why, ids[0] ?? ""]);
      // Without the documents, or with others, it is another review.
      assert.deepEqual(await trust(...reviews, "--without-evidence"), [1, "upgrade_undecided"]);
      writeFileSync(at("newer.json"), document("3", [...paths, "/v1/integrations"]));
      assert.deepEqual(await trust(at("old.json"), at("newer.json"), ...reviews), [1, "upgrade_undecided"]);
      assert.deepEqual(await trust(at("old.json"), at("new.json"), ...reviews), [0, null]);
    });
  },
);
