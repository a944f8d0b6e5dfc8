import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { defaults } from "../../kernel/defaults.ts";
import { holdCapability } from "./capability.ts";
import {
  createDeploymentBook,
  type Deployment,
  deploymentRow,
  endDeployment,
  installDeployment,
  readDeployment,
} from "./deployments.ts";

const TOKEN = "cap-5ecret-0123456789";

function made(environment: string, generation: number, capability: string | null = TOKEN): Deployment {
  const provenance = {
    ...{ deployment_id: `dep-${environment}-${generation}`, environment, release_id: "r", artifact_digest: "" },
    ...{ source_revision: "", config_digest: "", prior_release_id: "q", created_target_generation: generation },
    ...{ migration_set_id: null, actor_id: "bot" },
  };
  return {
    ...{ id: `acme/${provenance.deployment_id}`, runId: "run_1", party: "me", pack: "acme", action: "acme.promote" },
    ...{ provenance, reversibility: "needing_repair", madeAt: "now", state: "current" },
    capability: holdCapability(capability, provenance),
  };
}

test("a capability is shown by nothing, kept through its row, and gone with a terminal state", () => {
  const deployment = made("production", 5);
  for (const text of [JSON.stringify(deployment), inspect(deployment, { depth: 9 }), String(deployment.capability)]) {
    assert.ok(!text.includes(TOKEN));
  }
  const back = readDeployment(deploymentRow(deployment));
  assert.equal(
    back.capability?.whole.use((bytes) => bytes.toString()),
    JSON.stringify(TOKEN),
  );
  const { whole, secrets } = deployment.capability ?? assert.fail();
  assert.equal(endDeployment(deployment, "stale").body["capability"], null);
  for (const secret of [whole, ...secrets]) assert.throws(() => secret.use(() => undefined), /wiped/);
});

test("what is lent for a send is a copy of this pack's alone, and outlives the deployment until it is given back", () => {
  const book = createDeploymentBook(() => null);
  const deployment = made("production", 5);
  book.put(deployment);
  assert.deepEqual(book.lendSecrets("other").secrets, []);
  const { secrets, release } = book.lendSecrets("acme");
  endDeployment(deployment, "rolled_back");
  assert.deepEqual(
    secrets.map((secret) => secret.use((bytes) => bytes.toString())),
    [TOKEN],
  );
  release();
  assert.throws(() => secrets[0]?.use(() => undefined), /wiped/);
  assert.deepEqual(book.lendSecrets("acme").secrets, []);
});

test("however many deployments there were, the newest of a bounded number of environments are held", () => {
  const rows = new Map<string, ReturnType<typeof deploymentRow>>();
  const book = createDeploymentBook((id) => rows.get(id) ?? null);
  const first = made("env-0", 1);
  rows.set(first.id, deploymentRow(first));
  book.put(first);
  for (let generation = 2; generation < 50; generation++) book.put(made("env-0", generation));
  assert.equal(book.size, 1);
  assert.equal(book.newest("acme", "env-0")?.provenance.created_target_generation, 49);
  book.put(made("env-0", 7));
  assert.equal(book.newest("acme", "env-0")?.provenance.created_target_generation, 49, "an older one changes nothing");
  assert.equal(book.find("acme", "dep-env-0-1")?.id, first.id, "what is not held is looked up");
  assert.equal(book.find("acme", "dep-env-0-2"), undefined);
  for (let count = 1; count < defaults.deploymentsHeld + 50; count++) book.put(made(`env-${count}`, 1));
  assert.equal(book.size, defaults.deploymentsHeld);
  assert.equal(book.newest("acme", "env-0"), undefined);
});

test("what is proven late is no newer for that: the newest of an environment stays what can be undone", () => {
  const book = createDeploymentBook(() => null);
  assert.deepEqual(
    installDeployment(book, made("production", 6)).map(({ state }) => state),
    ["current"],
  );
  const [late, ...none] = installDeployment(book, made("production", 5));
  assert.deepEqual([late?.state, late?.body["capability"], none.length], ["superseded", null, 0]);
  assert.equal(book.newest("acme", "production")?.provenance.created_target_generation, 6);
  const rows = installDeployment(book, made("production", 7));
  assert.deepEqual(
    rows.map(({ id, state }) => [id, state]),
    [
      ["acme/dep-production-6", "superseded"],
      ["acme/dep-production-7", "current"],
    ],
  );
});

test("what is proven late cannot be undone where a newer one was undone meanwhile, also after a start", () => {
  for (const state of ["rolled_back", "stale"] as const) {
    const book = createDeploymentBook(() => null);
    const newer = made("production", 6);
    installDeployment(book, newer);
    endDeployment(newer, state);
    const [late, ...none] = installDeployment(book, made("production", 5));
    assert.deepEqual([late?.state, late?.body["capability"], none.length], ["superseded", null, 0]);
    assert.equal(book.newest("acme", "production"), newer);
  }
});

test("a deployment that is put again keeps its authority, and is the last to be forgotten", () => {
  const book = createDeploymentBook(() => null);
  const [again, other] = [made("env-0", 1), made("env-1", 1)];
  const wholeOf = ({ capability }: Deployment) => (capability ?? assert.fail()).whole;
  for (const one of [again, other, again]) book.put(one);
  for (let count = 2; count <= defaults.deploymentsHeld; count++) book.put(made(`env-${count}`, 1));
  assert.deepEqual([book.newest("acme", "env-0"), book.newest("acme", "env-1")], [again, undefined]);
  assert.equal(
    wholeOf(again).use((bytes) => bytes.toString()),
    JSON.stringify(TOKEN),
  );
  assert.throws(() => wholeOf(other).use(() => undefined), /wiped/, "its row has it");
});

test("what is told of one generation again is what counts of it", () => {
  const book = createDeploymentBook(() => null);
  const [first, again] = [made("production", 5), made("production", 5, "another-cap-0123456789")];
  const { whole } = first.capability ?? assert.fail();
  installDeployment(book, first);
  assert.deepEqual(
    installDeployment(book, again).map(({ id, state }) => [id, state]),
    [[again.id, "current"]],
  );
  assert.equal(book.find("acme", "dep-production-5"), again);
  assert.throws(() => whole.use(() => undefined), /wiped/);
  const other = { ...made("production", 5), id: "acme/other" };
  assert.deepEqual(
    installDeployment(book, other).map(({ id, state }) => [id, state]),
    [
      [again.id, "superseded"],
      [other.id, "current"],
    ],
  );
  assert.equal(book.newest("acme", "production"), other);
  endDeployment(other, "rolled_back");
  assert.equal(installDeployment(book, made("production", 6)).length, 1, "what has ended is not ended again");
});

test("an authority is read back from rows as any version wrote it", () => {
  const row = deploymentRow(made("production", 5));
  const { capability: text, ...without } = row.body;
  const readBack = (body: typeof row.body) =>
    readDeployment({ ...row, body }).capability?.whole.use((bytes) => bytes.toString()) ?? null;
  const whole = { capability_id: TOKEN };
  assert.equal(readBack({ ...without, capability: whole }), JSON.stringify(whole));
  assert.deepEqual([readBack(row.body), readBack(without)], [text, null]);
  assert.equal(readBack(deploymentRow(made("production", 5, null)).body), null);
});

test("a row that was changed is refused and never used", () => {
  const book = createDeploymentBook(() => ({ tampered: "acme/dep-1" }));
  assert.throws(() => book.find("acme", "dep-1"), { code: "state_tampered" });
});
