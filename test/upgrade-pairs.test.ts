import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { draftPack } from "../src/conventions/action/draft/draft-pack.ts";
import type { Pack } from "../src/conventions/action/pack.ts";
import { readPack } from "../src/conventions/action/read.ts";
import { type Review, reviewUpgrade } from "../src/conventions/upgrade/compare/review.ts";
import { readDocument } from "../src/conventions/upgrade/document/read-document.ts";
import { buildAuthorityMap } from "../src/conventions/upgrade/map/authority-map.ts";
import { compareMaps } from "../src/conventions/upgrade/map/compare-maps.ts";
import type { Api } from "../src/conventions/upgrade/model/api.ts";
import { buildApi } from "../src/conventions/upgrade/model/build-api.ts";
import { comparePacks } from "../src/conventions/upgrade/pack/compare-packs.ts";
import { coverPacks } from "../src/conventions/upgrade/pack/cover.ts";
import { requireEvidence } from "../src/conventions/upgrade/pack/require-evidence.ts";
import { Denied } from "../src/kernel/failure.ts";

const folder = join(import.meta.dirname, "../../shared/vectors/openapi-pairs");
const skip = existsSync(folder) ? false : "the public OpenAPI pairs are not here";
const netlify = ["netlify/old-2.12.0.swagger2.json", "netlify/new-2.60.0.swagger2.json"] as const;
const adyen = ["adyen-management/ManagementService-v1.json", "adyen-management/ManagementService-v3.json"] as const;

function read(file: string): Api {
  return buildApi(readDocument(file, readFileSync(join(folder, file))));
}

/** Most tests look at the same document or the same review, and none changes it. */
const load = once(read);
const reviewed = once((pair: string): Review => {
  const [before = "", after = ""] = pair.split(" ");
  return reviewUpgrade(load(before), load(after));
});
const review = (pair: readonly [string, string]): Review => reviewed(pair.join(" "));

function once<Made>(make: (of: string) => Made): (of: string) => Made {
  const made = new Map<string, Made>();
  return (of) => {
    const found = made.get(of) ?? make(of);
    made.set(of, found);
    return found;
  };
}

function tally(differences: Review["differences"], of: (one: Review["differences"][number]) => string): object {
  const counts: Record<string, number> = {};
  for (const one of differences) counts[of(one)] = (counts[of(one)] ?? 0) + 1;
  return Object.fromEntries(Object.entries(counts).sort(([a], [b]) => (a < b ? -1 : 1)));
}

type Raw = { readonly [name: string]: Raw } & { readonly security?: unknown };

/** Operations by a plain walk over the JSON, which shares nothing with our reader. */
const rawOperations = once((file: string): ReadonlyMap<string, Raw> => {
  const root = JSON.parse(readFileSync(join(folder, file), "utf8")) as Raw;
  const found = new Map<string, Raw>();
  for (const [path, item] of Object.entries(root["paths"] ?? {})) {
    for (const method of ["get", "put", "post", "delete", "patch", "head", "options"]) {
      const operation = (item as Raw)[method];
      if (operation !== undefined) found.set(`${method.toUpperCase()} ${path}`, operation);
    }
  }
  return found;
});

for (const pair of [netlify, adyen]) {
  test(`${pair[0]}: operations added and removed are those of a plain count, one by one`, { skip }, () => {
    const [before, after] = [rawOperations(pair[0]), rawOperations(pair[1])];
    const found = review(pair);
    const subjects = (kind: string): string[] =>
      found.differences
        .filter((one) => one.kind === kind)
        .map((one) => one.subject)
        .sort();
    assert.deepEqual(subjects("operation_added"), [...after.keys()].filter((key) => !before.has(key)).sort());
    assert.deepEqual(subjects("operation_removed"), [...before.keys()].filter((key) => !after.has(key)).sort());
  });

  test(`${pair[0]}: security changes of kept operations are those of a plain count`, { skip }, () => {
    const [before, after] = [rawOperations(pair[0]), rawOperations(pair[1])];
    const changed = [...before].filter(([key, one]) => {
      const next = after.get(key);
      return next !== undefined && JSON.stringify(one["security"]) !== JSON.stringify(next["security"]);
    });
    const found = review(pair).differences.filter(({ kind }) => kind.startsWith("security_"));
    assert.deepEqual(found.map(({ subject }) => subject).sort(), changed.map(([key]) => key).sort());
  });

  test(`${pair[0]}: each version against itself yields nothing`, { skip }, () => {
    for (const file of pair) assert.deepEqual(reviewUpgrade(load(file), read(file)).differences, []);
  });
}

test("netlify 2.12 to 2.60: the figures, counted by hand", { skip }, () => {
  const found = review(netlify);
  assert.equal(found.before.dialect, "swagger-2.0");
  assert.deepEqual(found.counts, { added: 66, removed: 0, renamed: 0, kept: 115 });
  const added = found.differences.filter(({ kind }) => kind === "operation_added");
  // 12 deletions, 18 posts, 9 puts and 3 patches act, and two of the 24 gets hand out a token.
  assert.deepEqual(
    tally(added, (one) => one.surface),
    { action_reach: 12 + 18 + 9 + 3 + 2, resource_reach: 22 },
  );
  assert.deepEqual(
    tally(added, (one) => one.subject.split(" ")[0] ?? ""),
    { DELETE: 12, GET: 24, PATCH: 3, POST: 18, PUT: 9 },
  );
  // One new route says `security: []`; all others inherit the document's one scheme.
  assert.deepEqual(
    tally(added, (one) => one.credential?.kind ?? ""),
    { accepted: 65, open: 1 },
  );
  assert.equal(added.find((one) => one.credential?.kind === "open")?.subject, "GET /ai-gateway/providers");
  assert.deepEqual(
    found.differences.filter(({ kind }) => /^(security|scheme|scope|server|token_endpoint)/.test(kind)),
    [],
  );
});

test("netlify 2.12 to 2.60: what reads by its method and hands out a token is called what it is", { skip }, () => {
  const effects = new Map(
    review(netlify)
      .differences.filter(({ kind }) => kind === "operation_added")
      .map((one) => [one.subject, one.effect]),
  );
  for (const route of ["GET /accounts/{account_id}/ai-gateway/token", "GET /sites/{site_id}/ai-gateway/token"]) {
    assert.equal(effects.get(route)?.effect, "mint", route);
    assert.equal(effects.get(route)?.disguised, true, route);
  }
  assert.equal(effects.get("POST /purge")?.effect, "delete");
  assert.equal(effects.get("PUT /{account_slug}/members/{member_id}")?.effect, "grant");
  assert.equal(effects.get("POST /sites/{site_id}/database/snapshot/{snapshot_id}/restore")?.effect, "write");
  assert.equal(effects.get("GET /sites/{site_id}/functions")?.effect, "read");
  assert.match(effects.get("POST /agent_runners/{agent_runner_id}/pull_request")?.confidence ?? "", /^unsure/);
});

test("netlify 2.12 to 2.60: a token that appears in sixteen answers is one group", { skip }, () => {
  const tokens = review(netlify).differences.filter(({ kind }) => kind === "token_returned");
  assert.equal(tokens.length, 16);
  assert.equal(new Set(tokens.map(({ group }) => group)).size, 1);
  assert.ok(tokens.every(({ at }) => at.endsWith("skew_protection_token")));
  const plain = [...rawOperations(netlify[1])].filter(
    ([key, one]) =>
      rawOperations(netlify[0]).has(key) && JSON.stringify(one["responses"]).includes("skew_protection_token"),
  );
  assert.equal(plain.length, 16);
});

test("adyen v1 to v3: the figures, counted by hand", { skip }, () => {
  const found = review(adyen);
  assert.equal(found.before.dialect, "openapi-3.1");
  assert.deepEqual(found.counts, { added: 4, removed: 0, renamed: 0, kept: 130 });
  assert.deepEqual(
    found.differences.filter(({ surface }) => surface === "credential_acceptance"),
    [],
  );
  const base = found.differences.filter(({ kind }) => kind === "base_path_changed");
  assert.deepEqual(
    base.map(({ before, after }) => [before, after]),
    [["https://management-test.adyen.com/v1", "https://management-test.adyen.com/v3"]],
  );
  assert.deepEqual(
    found.differences
      .filter(({ kind }) => kind === "operation_added")
      .map(({ subject, effect }) => `${subject}: ${effect?.effect}`)
      .sort(),
    [
      "PATCH /companies/{companyId}/androidApps/{id}: write",
      "POST /companies/{companyId}/androidApps: create",
      "POST /companies/{companyId}/androidCertificates: create",
      "POST /terminals/{terminalId}/reassign: write",
    ],
  );
});

test("adyen v1 to v3: members of components that came and went are those of a plain count", { skip }, () => {
  type Components = { readonly components: { readonly schemas: Record<string, { readonly properties?: object }> } };
  const [old, next] = adyen.map(
    (file) => (JSON.parse(readFileSync(join(folder, file), "utf8")) as Components).components.schemas,
  );
  const expected: string[] = [];
  for (const [name, schema] of Object.entries(old ?? {})) {
    const other = next?.[name];
    if (other === undefined) continue;
    const [mine, theirs] = [Object.keys(schema.properties ?? {}), Object.keys(other.properties ?? {})];
    expected.push(...theirs.filter((member) => !mine.includes(member)).map((member) => `+ ${name}.${member}`));
    expected.push(...mine.filter((member) => !theirs.includes(member)).map((member) => `- ${name}.${member}`));
  }
  assert.equal(expected.length, 21 + 26);
  const found = review(adyen).differences.flatMap(({ subject, at, before, after }) => {
    const [, name] = subject.split("schema ");
    return name === undefined || /[.[\]{} ]/.test(at) || (before !== null && after !== null)
      ? []
      : [`${before === null ? "+" : "-"} ${name}.${at}`];
  });
  assert.deepEqual(found.sort(), expected.sort());
});

test("adyen v1 to v3: the roles that only the prose names are the authorization condition of the map", { skip }, () => {
  const [before, after] = adyen.map(load);
  assert.ok(before !== undefined && after !== undefined);
  const map = buildAuthorityMap(after);
  assert.equal(map.rows.length, 134);
  const row = map.rows.find(({ operation }) => operation === "POST /terminals/{terminalId}/reassign");
  assert.deepEqual(row, {
    operation: "POST /terminals/{terminalId}/reassign",
    effect: "write",
    actions: [],
    resource_boundary: "one terminalId",
    credential_label: "not used by the pack",
    authorization_condition: "ApiKeyAuth or BasicAuth; the text asks for Management API—Assign Terminal",
    default_behaviour: "nothing is optional",
    denial_expectation: "401, 403",
  });
  assert.deepEqual(
    compareMaps(buildAuthorityMap(before), map).map(({ kind }) => kind),
    ["added", "added", "added", "added"],
  );
});

test("documents are evidence about a pack of their own API, and about no other", { skip }, () => {
  const drafted = (api: Api): Pack => {
    const { text } = draftPack(api, { pack: "netlify", operations: ["listSites", "getSite"], origin: null });
    const { pack } = readPack(Buffer.from(text), "netlify.yaml");
    assert.ok(pack !== null);
    return pack;
  };
  const [old, next] = netlify.map(load);
  const [other, others] = adyen.map(load);
  assert.ok(old !== undefined && next !== undefined && other !== undefined && others !== undefined);
  const [before, after] = [drafted(old), drafted(next)];
  assert.deepEqual(coverPacks(before, after, old, next), { foundBefore: 2, missing: [], foreignOrigin: null });
  const foreign = coverPacks(before, after, other, others);
  assert.deepEqual(
    [foreign.foundBefore, foreign.missing.length, foreign.foreignOrigin],
    [0, 2, "https://api.netlify.com"],
  );
  const documents = { before: other.digest, after: others.digest, coverage: foreign };
  assert.throws(
    () => requireEvidence(before, after, comparePacks(before, after), { documents, probe: null, without: false }),
    (error) => error instanceof Denied && error.code === "review_mismatch",
  );
});
