import assert from "node:assert/strict";
import { type Exited, until } from "../support/home.ts";
import { idIn } from "../support/reply.ts";
import type { FleetStand, Told } from "./stand.ts";

/** A word of a gateway to the hub: how it is known on the way there, and what has to hold once a fault in it is over. */
export interface HubStep {
  readonly name: string;
  /** Part of its statement. */
  readonly text: string;
  /** The table that it writes first, and one that it needs while it has that; null where there are no two, or the second was read before. */
  readonly tables: readonly [string, string] | null;
  /** Has web1 say it. Resolves to a check for when the fault is over. `arm` sets the fault, right before. */
  provoke(stand: FleetStand, id: string, arm: () => unknown): Promise<() => Promise<void>>;
}

/** Told as done is done once; told as refused was never sent; and what is not known yet ends as one of both. */
function provenEffect(stand: FleetStand, told: Told): void {
  const sent = stand.sent(told.id);
  const done = told.as === "success";
  assert.ok(done || /^hub_/.test(told.as) || told.text.includes('"never_sent"'), told.text);
  assert.equal(sent, done ? 1 : 0, `${told.id} was told as ${told.text}`);
}

const effect = (name: string, text: string, tables: HubStep["tables"]): HubStep => ({
  ...{ name, text, tables },
  async provoke(stand, id, arm) {
    await arm();
    const told = await stand.change(stand.web1, id);
    return async () => provenEffect(stand, told);
  },
});

function hubOf(stand: FleetStand, count: string): Promise<number> {
  return stand.cluster.sql<{ count: number }>(count).then(([row]) => row?.count ?? 0);
}

const succeeds = (done: Exited, what: string): void => assert.equal(done.code, 0, `${what}: ${done.err}${done.out}`);

export const hubSteps: readonly HubStep[] = [
  effect("the intent of an effect, in the log", "update gw_hub.log_head", ["log_head", "log_chunk"]),
  {
    name: "the end of an effect, in the log",
    text: "update gw_hub.log_head",
    tables: ["log_head", "log_chunk"],
    async provoke(stand, id, arm) {
      stand.onEffect(arm);
      const told = await stand.change(stand.web1, id);
      stand.onEffect(null);
      // It had left when the fault came: it is told, late or not.
      return async () => {
        assert.equal(told.as, "success", told.text);
        provenEffect(stand, told);
      };
    },
  },
  effect("the intent of an effect, among what is under way", "update gw_hub.state_head", ["state_head", "state"]),
  effect("what a limit counts", "insert into gw_hub.limit_head", ["limit_head", "limit_share"]),
  {
    name: "a life of a gateway",
    text: "insert into gw_hub.state_head",
    tables: ["state_head", "state"],
    async provoke(stand, _id, arm) {
      await stand.kill(stand.web1);
      await arm();
      await stand.restart(stand.web1);
      return async () => {
        const [row] = await stand.cluster.sql<{ terms: number }>(
          "select count(*)::int as terms from gw_hub.state_head h where gateway = 'web1' and not exists (select from gw_hub.adoptions a where a.gateway = h.gateway and a.term = h.term)",
        );
        assert.equal(row?.terms, 1);
      };
    },
  },
  {
    name: "a question",
    text: "insert into gw_hub.cards",
    tables: ["cards", "gateways"],
    async provoke(stand, id, arm) {
      await arm();
      const asked = await stand.web1.agent.ask("POST", "/v1/runs", {
        ...{ purpose: id, actions: ["acme.thing.get"], budget: { duration_seconds: 60 } },
      });
      assert.equal(asked.status, 202, asked.text);
      const card = idIn(asked, "approval_id");
      return async () => {
        await until("its card is on the hub", async () => {
          return (
            (await hubOf(stand, `select count(*)::int as count from gw_hub.cards where approval_id = '${card}'`)) === 1
          );
        });
        await stand.web1.home.must(["approve", card]);
      };
    },
  },
  {
    name: "the answer to an operator's word",
    text: "update gw_hub.statements set answer",
    tables: null,
    async provoke(stand, id, arm) {
      const asked = await stand.web1.agent.ask("POST", "/v1/runs", {
        ...{ purpose: id, actions: ["acme.thing.get"], budget: { duration_seconds: 60 } },
      });
      assert.equal(asked.status, 202, asked.text);
      const card = idIn(asked, "approval_id");
      await until("its card is on the hub", async () => {
        return (
          (await hubOf(stand, `select count(*)::int as count from gw_hub.cards where approval_id = '${card}'`)) === 1
        );
      });
      await arm();
      const approved = stand.web2.home.operator(["approve", card, "--hub", stand.url("ada")]);
      return async () => {
        const done = await approved;
        // Their own way may be what was cut. Whoever is answered hears what came of it, and not that it was over already.
        if (done.code !== 0) assert.match(done.err, /hub_unreachable/, done.err);
        await until("it is approved, once", async () => {
          // Over by itself where all this took long.
          const { state } = (await stand.web1.agent.ask("GET", `/v1/runs/${idIn(asked, "run_id")}`)).body;
          return state === "open" || state === "ended";
        });
      };
    },
  },
  {
    name: "signed files",
    text: "insert into gw_hub.documents",
    tables: null,
    async provoke(stand, _id, arm) {
      await arm();
      const version = Number((await stand.web1.home.status())["policy_version"]);
      await stand.web1.home.must(["policy", "set", "run_attempts", String(40 + (version % 50))]);
      return async () => {
        await until(
          "the other host has followed",
          async () => Number((await stand.web2.home.status())["policy_version"]) > version,
        );
      };
    },
  },
  {
    name: "joining",
    text: "insert into gw_hub.gateways",
    tables: null,
    async provoke(stand, _id, arm) {
      await arm();
      const join = ["hub", "join", stand.url("web1"), "--name", "web1", "--unlock-by-hub"];
      const joined = await stand.web1.home.operator(join);
      return async () => {
        if (joined.code !== 0) succeeds(await stand.web1.home.operator(join), "joining again");
      };
    },
  },
  {
    name: "taking over",
    text: "insert into gw_hub.adoptions",
    tables: null,
    async provoke(stand, id, arm) {
      // What was cut before may not have come back there.
      await stand.works(stand.web2);
      stand.hold(true);
      const held = new Promise<void>((resolve) => stand.onEffect(() => resolve()));
      const lost = stand.change(stand.web2, id).catch(() => null);
      await Promise.race([held, lost.then((told) => assert.fail(`it did not leave: ${told?.text}`))]);
      stand.onEffect(null);
      await stand.kill(stand.web2);
      stand.hold(false);
      await lost;
      await stand.cluster.sql(
        "update gw_hub.log_head set seen_at = clock_timestamp() - interval '1 hour' where gateway = 'web2'",
      );
      await arm();
      const adopt = () => stand.web1.home.operator(["operation", "adopt", "web2"]);
      const adopted = await adopt();
      return async () => {
        const again = adopted.code === 0 ? adopted : await adopt();
        // Its connection came back before the operator did, and it was brought home by that.
        if (again.code !== 0) assert.match(again.err, /^operation_taken_over: This gateway/m, again.err);
        await until("it is settled once", async () => {
          const list = await stand.web1.home.must(["operation", "list", "--all", "--json"]);
          const all = JSON.parse(list.out) as readonly { readonly settled: boolean }[];
          return all.length > 0 && all.every(({ settled }) => settled);
        });
        assert.equal(stand.sent(id), 1);
        await stand.restart(stand.web2);
      };
    },
  },
];
