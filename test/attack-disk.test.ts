import assert from "node:assert/strict";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { asUser, demoPack, type Gateway, Home, makeFolder, openPlane, startAgent } from "./support/home.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";
import { idIn } from "./support/reply.ts";

/** Of what may be written for one user in a day before a person said yes, what is told one by one has half. */
const TOLD_BYTES = 67_108_864 / 2;
const LARGE = "x".repeat(199_000);

describe("what nobody approved fills no disk", asUser, () => {
  let home: Home;
  let provider: TestProvider;
  let gateway: Gateway;
  /** Before the volume was used up, and what came of using it up. */
  let written: number;
  let poured: Awaited<ReturnType<typeof pour>>;

  before(async () => {
    provider = await startProvider();
    home = await new Home(makeFolder()).init();
    await home.addCredential("demo-token", provider.origin);
    await home.trustPack("demo", demoPack(provider.origin).replaceAll("maxLength: 64", "maxLength: 200000"));
    gateway = await home.up();
  });

  after(async () => {
    await gateway?.end();
    await provider?.close();
  });

  /** Sends large calls in runs of its own that nobody decides on; says how many were taken and what the others were told. */
  async function pour(calls: number): Promise<{ readonly accepted: number; readonly codes: ReadonlySet<string> }> {
    const codes = new Set<string>();
    let accepted = 0;
    for (let program = 0; program < 2; program++) {
      const agent = await startAgent(home);
      try {
        const run = await agent.ask("POST", "/v1/runs", { purpose: "to fill", actions: ["demo.*"], budget: {} });
        assert.equal(run.status, 202, run.text);
        for (let turn = 0; turn < calls / 2; turn++) {
          const path = `/v1/runs/${idIn(run, "run_id")}/calls`;
          const asked = { action: "demo.thing.make", input: { name: LARGE } };
          const reply = await agent.ask("POST", path, asked, { prefer: "wait=0" });
          if (reply.status === 202) accepted++;
          else codes.add(String(reply.body["code"]));
        }
      } finally {
        agent.close();
      }
    }
    return { accepted, codes };
  }

  before(async () => {
    if ("skip" in asUser) return;
    written = bytesOf(home.folder);
    poured = await pour(270);
  });

  test("large calls in runs that nobody approved are written down within the user's volume, wait only so many at a time, and a person can still be asked", async () => {
    const { accepted, codes } = poured;
    assert.deepEqual([...codes], ["too_many_requests"]);
    assert.ok(accepted * LARGE.length > 1.3 * TOLD_BYTES, `${accepted} were taken, more than may be written`);
    const grown = bytesOf(home.folder) - written;
    assert.ok(grown < 1.15 * TOLD_BYTES, `${grown} bytes were written`);
    const plane = openPlane(home.agentSocket);
    try {
      const run = await plane.ask("POST", "/v1/runs", { purpose: "to work", actions: ["demo.*"], budget: {} });
      assert.equal(run.status, 202, run.text);
      await home.approve(idIn(run, "approval_id"));
    } finally {
      plane.close();
    }
    const { code, out } = await home.verify();
    assert.equal(code, 0, out);
  });

  test("a gateway that was killed and started anew has not forgotten what was written for a user", async () => {
    await gateway.end("SIGKILL");
    gateway = await home.up();
    const before = bytesOf(home.folder);
    const { accepted } = await pour(40);
    assert.ok(accepted > 30, `${accepted} were taken`);
    const grown = bytesOf(home.folder) - before;
    assert.ok(grown < 10 * LARGE.length, `${grown} bytes were written after the start`);
  });
});

function bytesOf(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce(
      (sum, entry) => sum + (statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false })?.size ?? 0),
      0,
    );
}
