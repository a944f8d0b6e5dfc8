import { readFileSync } from "node:fs";
import { join } from "node:path";
import { bindAction } from "../src/conventions/action/bind.ts";
import { readPack } from "../src/conventions/action/read.ts";
import { buildUrl, type PathArgument } from "../src/conventions/url/build.ts";
import { readOrigin } from "../src/conventions/url/origin.ts";
import type { QueryPair } from "../src/conventions/url/query.ts";
import { parseTemplate } from "../src/conventions/url/template.ts";
import { canonicalJson, digestText } from "../src/kernel/canonical-json.ts";
import { type Bench, rate } from "./bench.ts";

const origin = readOrigin("https://api.acme.example");
const template = parseTemplate("/v1/projects/{project_id}/builds");

/** Best of alternating rounds, so that a busy machine slows both sides alike. */
function sideBySide(ours: () => unknown, theirs: () => unknown): readonly [ours: number, ratio: number] {
  let [best, peer] = [0, 0];
  for (let round = 0; round < 6; round++) {
    best = Math.max(best, rate(ours, 90, 2));
    peer = Math.max(peer, rate(theirs, 90, 2));
  }
  return [best, best / peer];
}

/** How much the refusals cost beside the same URL put together by hand, and what a whole binding costs. */
export const bench: Bench = {
  name: "url",
  async run(emit) {
    const cases = [
      { name: "plain text", project: "project-42", q: "status" },
      { name: "text to encode", project: "group/project é", q: "a b+c & d=é" },
    ];
    for (const { name, project, q } of cases) {
      const path = new Map<string, PathArgument>([["project_id", { value: project, percent: "refuse" }]]);
      const query: readonly QueryPair[] = [
        { name: "q", value: q, percent: "refuse", list: null },
        { name: "limit", value: 50, percent: "refuse", list: null },
      ];
      const byHand = (): string => {
        const url = new URL(`${origin}/v1/projects/${encodeURIComponent(project)}/builds`);
        url.searchParams.append("q", q);
        url.searchParams.append("limit", "50");
        return url.href;
      };
      const [value, ratio] = sideBySide(() => buildUrl({ origin, template, path, query }), byHand);
      emit({ case: `build, ${name}`, value, unit: "url/s", beside: "new URL + encodeURIComponent by hand", ratio });
    }
    const file = join(import.meta.dirname, "../packs/example.yaml");
    const { pack } = readPack(readFileSync(file), file);
    if (pack === null) throw new Error("the example pack does not read");
    const args = { project_id: "p-1", subject_id: "u-1", role: "viewer", if_match: "7" };
    // What remains when nothing is checked: the digest of the same command through the general canonicalizer.
    const command = {
      action: "acme.membership.plan",
      body: { if_match: "7", role: "viewer", subject_id: "u-1" },
      headers: { accept: "application/json", "content-type": "application/json", "x-api-version": "2026-10-01" },
      method: "POST",
      url: `${origin}/v1/projects/p-1/memberships/plan`,
    };
    const [value, ratio] = sideBySide(
      () => bindAction(pack, "membership.plan", args),
      () => digestText(canonicalJson(command)),
    );
    const beside = "general canonical digest of the command alone";
    emit({ case: "bindAction, POST with four arguments", value, unit: "bind/s", beside, ratio });
  },
};
