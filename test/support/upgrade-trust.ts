import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { type Reference, startReference } from "../../packages/reference/src/start.ts";
import { createClock, systemRandom, systemSleep } from "../../src/adapters/platform/system.ts";
import { codeOf, type Gateway, Home, type Members, makeFolder } from "./home.ts";
import { corpus, issueTokens } from "./upgrade-corpus.ts";

/** The reference provider, a home whose pack `acme` calls it, and the gateway: what trusting a changed pack needs. */
export interface TrustStand {
  readonly reference: Reference;
  readonly home: Home;
  at(name: string): string;
  pack(version: string, more?: string): string;
  add(text: string): Promise<void>;
  trust(...args: readonly string[]): Promise<readonly [code: number | null, denial: string | null]>;
  /** Probes both versions with this credential of the vault, and saves the report. */
  probe(report: string, vault: string, scopes?: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

export const why = ["--reason", "a test provider that is wrong on purpose"];

export async function startTrustStand(): Promise<TrustStand> {
  const folder = makeFolder();
  const at = (name: string): string => join(folder, name);
  const clock = createClock();
  const reference = await startReference({
    port: 0,
    file: at("reference.db"),
    clock,
    random: systemRandom,
    sleep: systemSleep,
  });
  const home = await new Home(folder).init();
  await home.addCredential("acme-main", reference.origin);
  const gateway: Gateway = await home.up();
  const pack = (version: string, more = ""): string => `format: gw.pack/v1
pack: acme
provider:
  origin: ${reference.origin}
  credential: acme-main
  auth: { scheme: bearer }
  network: private
  version: { header: X-API-Version, value: "${version}" }
actions:
  project.list:
    effect: read
    request: { method: GET, path: /v1/projects }
  project.get:
    effect: read
    request: { method: GET, path: "/v1/projects/{id}" }
    input: { id: { in: path, type: string, maxLength: 64 } }
${more}`;
  return {
    reference,
    home,
    at,
    pack,
    async add(text) {
      writeFileSync(at("acme.yaml"), text);
      assert.equal((await home.run(["pack", "add", at("acme.yaml")])).code, 0);
    },
    async trust(...args) {
      const done = await home.operator(["pack", "trust", "acme", ...args]);
      return [done.code, done.code === 0 ? null : codeOf(done)];
    },
    async probe(report, vault, scopes) {
      const tokens = await issueTokens(reference);
      const robot = { actor: "robot", tenant: "acme" };
      const own = scopes === undefined ? {} : { GW_TEST_MAIN: await reference.issueToken({ ...robot, scopes }) };
      const main = { ...corpus.credentials.main, vault };
      // Other probes than these two have no part in trusting.
      const probes = corpus.probes.filter(({ id }) => ["project.list", "project.get", "new.export"].includes(id));
      writeFileSync(at("corpus.yaml"), stringify({ ...corpus, probes, credentials: { ...corpus.credentials, main } }));
      const where = ["--old", reference.origin, "--new", reference.origin];
      const headers = ["--old-header", "X-API-Version: 2026-04-01", "--new-header", "X-API-Version: 2026-10-01"];
      const done = await home.operator(
        ["upgrade", "probe", "--corpus", at("corpus.yaml"), ...where, ...headers, "--json"],
        { env: { ...home.environment(), ...tokens, ...own } },
      );
      assert.notEqual(done.out, "", done.err);
      writeFileSync(at(report), done.out);
    },
    async close() {
      await gateway.end();
      await reference.close();
    },
  };
}

export function told(report: string): readonly string[] {
  return ((JSON.parse(report) as Members)["differences"] as readonly Members[])
    .map(({ kind, subject, at }) => `${kind} ${subject}|${at}`)
    .sort();
}
