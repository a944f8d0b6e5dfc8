import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { failOver, makeSynchronous, playFault, troubleOf } from "./hub-faults/faults.ts";
import { type FleetStand, makeFleet } from "./hub-faults/stand.ts";
import { makeFolder, until } from "./support/home.ts";
import { needPostgres } from "./support/postgres.ts";

const { programs, skip } = needPostgres(import.meta.filename);
const real = (name: string, run: () => Promise<void>) => test(name, { skip, timeout: 400_000 }, run);

let stand: FleetStand;
before(async () => {
  // Gateways that go by dates of their own from the start need none more when their clocks are set.
  if (skip === false) stand = await makeFleet(programs, [], true);
});
after(async () => {
  if (skip === false) await stand.close();
});

/** Every fault, where it is dangerous and cheap to provoke; all of them in every step is `npm run soak -- hub`. */
const sample: readonly (readonly [fault: string, step: string])[] = [
  ["cut before the commit", "the answer to an operator's word"],
  ["cut after the commit", "the end of an effect, in the log"],
  ["cut after the commit", "what a limit counts"],
  ["a crash of the server", "the intent of an effect, in the log"],
  ["a deadlock", "the intent of an effect, among what is under way"],
  ["a synchronous standby is promoted", "the intent of an effect, among what is under way"],
  ["a lagging standby is promoted", "what a limit counts"],
  ["the clocks of two hosts are three minutes apart", "taking over"],
];

for (const [fault, step] of sample) real(`${fault}, in ${step}`, () => playFault(stand, fault, step));

real("sessions that forget their statements, as behind a pooler, hold up nobody", async () => {
  const { web1, way } = stand;
  await stand.works(web1);
  way.forget();
  const told = await stand.change(web1, "forgotten");
  assert.equal(told.as, "success", told.text);
  assert.equal(stand.sent(told.id), 1);
});

real(
  "a database whose clock jumps grants nothing that a limit counts to whom it shows that, and loses nothing",
  async () => {
    const { web1, web2, cluster } = stand;
    let tries = 0;
    await stand.works(web1);
    await cluster.sql("create schema odd; grant usage on schema odd to public");
    await cluster.sql(
      "create function odd.clock_timestamp() returns timestamptz language sql volatile as $$ select pg_catalog.clock_timestamp() + interval '3 days' $$",
    );
    const again = "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'web1'";
    await cluster.sql("alter role web1 set search_path = odd, pg_catalog");
    await cluster.sql(again);
    // It knows by then that it lost its connections, and had counted alone before.
    await until("it is back", async () => {
      const [there] = await cluster.sql("select from pg_stat_activity where usename = 'web1'");
      return there !== undefined;
    });
    const refused = await until("it is found", async () => {
      const told = await stand.change(web1, `jumped${++tries}`);
      return told.as === "hub_clock_off" && told;
    });
    assert.equal(stand.sent(refused.id), 0);
    await stand.works(web2);
    await cluster.sql("alter role web1 reset search_path");
    await cluster.sql(again);
    await stand.works(web1);
  },
);

real("a host whose clock is an hour off sends nothing that a limit counts, until it is set right", async () => {
  const { web2 } = stand;
  await stand.skew(web2, 3_600);
  let tries = 0;
  const refused = await until("it is found", async () => {
    const told = await stand.change(web2, `skewed${++tries}`);
    return told.as === "hub_clock_off" && told;
  });
  assert.equal(stand.sent(refused.id), 0);
  await stand.skew(web2, 0);
  await stand.openSession(web2);
  await stand.works(web2);
  const verified = await stand.web1.home.run(["audit", "verify", "--hub", stand.url("ada"), "--json"]);
  assert.equal(verified.code, 0, verified.out);
});

real("a gateway goes on by itself with the second host of its address", async () => {
  const { web1, cluster: first } = stand;
  await first.sql("alter role web1 password 'of-web1'");
  const second = await makeSynchronous(stand, makeFolder());
  const password = join(makeFolder(), "password");
  writeFileSync(password, "of-web1\n", { mode: 0o600 });
  const url = `postgres://web1@localhost:${first.port},localhost:${second.port}/postgres`;
  const login = ["--hub-ca", first.caFile, "--hub-password-file", password];
  await web1.home.must(["hub", "join", url, "--name", "web1", ...login]);
  const kept = await stand.works(web1);
  await failOver(stand, second);
  await stand.works(web1);
  assert.equal(stand.sent(kept.id), 1);
  assert.equal(await troubleOf(web1), null);
});
