import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fingerprintHome } from "../../vault/files/fingerprint.ts";
import { openHome, POLICY_NAME, type VaultHome } from "../../vault/files/home.ts";
import { firstPolicy } from "../../vault/policy/change.ts";
import { policyText, signPolicy } from "../../vault/policy/verify.ts";
import { founding, ports } from "../../vault/testing/fixture.ts";
import { watchFiles } from "./watch-files.ts";

test("what is signed is taken at the next look, and half of a file that is being copied not at all, unless it stays so", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const root = mkdtempSync(join(tmpdir(), "gw-"));
  t.after(() => rmSync(root, { recursive: true }));
  const { vault, operator } = await founding();
  const [founder] = vault.operators;
  assert.ok(founder !== undefined);
  const first = signPolicy(firstPolicy(founder), null, operator, vault, ports.clock);
  const next = policyText(signPolicy(first, first, operator, vault, ports.clock));
  const real = openHome(join(root, "home"), ports.random);
  await real.create(vault, first);
  const file = join(real.folder, POLICY_NAME);
  const state = { files: fingerprintHome(real.folder), filesRefused: null };
  const taken: string[] = [];
  let looked: Promise<unknown> = Promise.resolve();
  const home: VaultHome = {
    ...real,
    undisturbed(work) {
      const looking = real.undisturbed(work);
      looked = looking;
      return looking;
    },
  };
  const reload = async (): Promise<void> => {
    taken.push(readFileSync(file, "utf8"));
    state.files = fingerprintHome(real.folder);
  };
  const watched = watchFiles(home, state, reload, (error) => assert.fail(String(error)));
  t.after(() => watched.close());
  const look = async (): Promise<void> => {
    t.mock.timers.tick(250);
    await looked;
    // What it does after that, before the next look.
    await new Promise((resolve) => setImmediate(resolve));
  };

  await look();
  assert.deepEqual(taken, [], "nothing has changed");
  const half = next.slice(0, next.length / 2);
  for (const torn of ["", half.slice(0, 9), half]) {
    writeFileSync(file, torn);
    await look();
  }
  assert.deepEqual(taken, [], "somebody writes");
  writeFileSync(file, next);
  await look();
  assert.deepEqual(taken, [next]);
  writeFileSync(file, half);
  await look();
  assert.deepEqual(taken, [next]);
  await look();
  assert.deepEqual(taken, [next, half], "nobody writes any more");
});
