import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { NewEvent } from "../../audit/event.ts";
import { openHome } from "../../vault/files/home.ts";
import { openService } from "../../vault/lend.ts";
import { firstPolicy } from "../../vault/policy/change.ts";
import { signPolicy } from "../../vault/policy/verify.ts";
import { founding, ports, withTokens } from "../../vault/testing/fixture.ts";
import { createSteward } from "./steward.ts";
import type { StewardParts } from "./steward-parts.ts";
import { raisedBy, readTrust } from "./trust.ts";

test("what an operator signs right before a credential is suspended is told, and followed, all the same", async () => {
  const founded = await founding();
  const vault = await withTokens(founded, { acme: "tok-5ecret" });
  const [founder] = vault.operators;
  assert.ok(founder !== undefined);
  const folder = mkdtempSync(join(tmpdir(), "gw-"));
  try {
    const home = openHome(join(folder, "home"), ports.random);
    await home.create(vault, signPolicy(firstPolicy(founder), null, founded.operator, vault, ports.clock));
    const service = openService(vault, founded.operator.serviceKey);
    const trust = readTrust(home);
    const told: NewEvent[] = [];
    const followed: unknown[] = [];
    const nothing = async (): Promise<void> => undefined;
    const note = async (events: readonly NewEvent[]): Promise<void> => void told.push(...events);
    const compartment = { service, remember: nothing, follow: (next: unknown) => followed.push(next) > 0 };
    const high = raisedBy({ vault: null, policy: null }, trust);
    const parts = {
      ...{
        home,
        clock: ports.clock,
        random: ports.random,
        gateway: { ledger: { note, noteHappened: note }, tokens: { endReplaced: () => undefined } },
      },
      ...{ log: { rotate: async () => void followed.push("log") }, settings: { packsFolder: join(folder, "packs") } },
      ...{ callbacks: { adjust: nothing }, hub: { adjust: nothing }, state: { trust, high, compartment } },
      envelope: (event_type: string) => ({ event_type }),
    };
    const steward = createSteward(parts as unknown as StewardParts);
    await home.change(async (current) => ({
      vault: await withTokens({ ...founded, vault: current }, { other: "tok-0ther" }),
    }));
    assert.deepEqual(await steward.suspendCredentials(["acme"], "seen elsewhere", null), ["acme"]);
    await steward.reload();
    assert.deepEqual(
      told.map((event) => ("change" in event ? `${event.change} ${event["credential_label" as never]}` : "")),
      ["disabled acme", "added other"],
    );
    assert.deepEqual([followed.length, followed.at(-1)], [2, "log"]);
    assert.equal(parts.state.trust.vault.notes.suspended.length, 1);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
