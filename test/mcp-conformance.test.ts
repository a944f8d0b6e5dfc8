import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Duplex } from "node:stream";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import { serveEverything } from "./fixtures/mcp-everything.ts";
import { startHttpFront } from "./mcp-http-front.ts";
import { serveBridge } from "./mcp-stand.ts";
import { type Bench, startBench } from "./support/gateway.ts";
import { sampleOf } from "./support/whole.ts";

const suite = join(
  dirname(fileURLToPath(import.meta.resolve("@modelcontextprotocol/conformance/package.json"))),
  "dist/index.js",
);
const patience = join(import.meta.dirname, "fixtures", "patient-timers.ts");
const folder = mkdtempSync(join(tmpdir(), "gw-conformance-"));
let bench: Bench;

before(async () => {
  bench = await startBench(`
format: gw.pack/v1
pack: acme
provider:
  origin: http://127.0.0.1:9
  network: private
actions:
  thing.get:
    effect: read
    request: { method: GET, path: "/v1/things/{id}" }
    input:
      id: { in: path, type: string, maxLength: 64 }
`);
});
after(async () => {
  await bench.close();
  rmSync(folder, { recursive: true, force: true });
});

function serveGateway(socket: Duplex): void {
  serveBridge(bench, socket, (error) => assert.fail(String(error)));
}

/** The scenarios that a revision requires, by name, and whether each passed; what it found in them lies in a folder for each. */
function runSuite(url: string, revision: string, results: string): Promise<ReadonlyMap<string, boolean>> {
  const asked = ["server", "--url", url, "--requirements", revision, "--timeout", "60000", "-o", results];
  return new Promise((resolve) => {
    // It exits with 1 when anything failed; what failed is compared below.
    const args = [`--import=${patience}`, suite, ...asked];
    execFile(process.execPath, args, { cwd: folder, maxBuffer: 64 << 20 }, (_error, out, err) => {
      const found = new Map<string, boolean>();
      for (const [, mark, name = ""] of `${out}${err}`.matchAll(/^([✓✗]) ([a-z0-9-]+): \d+ passed/gm)) {
        found.set(name, mark === "✓");
      }
      resolve(found);
    });
  });
}

/** What the suite holds against us in a scenario. */
function complaintsOf(results: string, name: string): string {
  const folders = readdirSync(results).filter((one) => one.startsWith(`server-${name}-2`));
  return folders.map((one) => readFileSync(join(results, one, "checks.json"), "utf8")).join("\n");
}

const revisions = ["2025-11-25", "2026-07-28"];
for (const [target, serve, asked] of [
  ["gateway", serveGateway, revisions],
  // It is there for the transport, which knows no revisions.
  ["fixture", serveEverything, sampleOf("revisions of the fixture", revisions, 1)],
] as const) {
  for (const revision of asked) {
    test(`the conformance suite finds in the ${target} what ${revision} asks for, but for what is listed with its reason`, async () => {
      const file = join(import.meta.dirname, "fixtures", "mcp-conformance", `${target}-${revision}.yaml`);
      const expected = parse(readFileSync(file, "utf8")) as Record<string, string>;
      const front = await startHttpFront(serve);
      try {
        const results = join(folder, `${target}-${revision}`);
        const found = await runSuite(front.url, revision, results);
        assert.ok(found.size > 25, `only ${found.size} scenarios ran`);
        const failed = [...found].filter(([, passed]) => !passed).map(([name]) => name);
        for (const name of failed.filter((one) => !(one in expected))) console.error(complaintsOf(results, name));
        assert.deepEqual(failed.sort(), Object.keys(expected).sort());
        for (const [name, why] of Object.entries(expected)) assert.ok(why.length > 20, `${name} needs a reason`);
      } finally {
        front.close();
      }
    });
  }
}
