import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { cannotStand, Machine, type Person, people } from "./dedicated-stand.ts";
import { codeOf, type Started, until } from "./support/home.ts";

const { gw, ada, alfa, bravo } = people;

/** Connects again whenever it is let go, slowly enough for a small machine, and says how many were taken in. */
const CROWD = `
const { connect } = require("node:net");
let taken = 0;
const open = () => {
  const socket = connect(process.argv[1]);
  socket.on("connect", () => { if (++taken % 50 === 0) console.log("taken " + taken); });
  socket.on("error", () => undefined);
  socket.on("close", () => setTimeout(open, 200));
};
for (let index = 0; index < 400; index++) open();`;

describe(
  "floods of two agent users keep no operator out",
  cannotStand === undefined ? {} : { skip: cannotStand },
  () => {
    const machine = new Machine();
    let gateway: Started;
    let ident: Started;

    before(async () => {
      await machine.must(gw, ["init", "--operator", "ada"]);
      ident = await machine.startIdent();
      gateway = await machine.startGateway();
      await machine.must(ada, ["unlock"]);
    });

    after(async () => {
      await gateway?.end("SIGTERM");
      await ident?.end();
    });

    async function crowdOf(who: Person): Promise<Started> {
      const crowd = machine.start(who, [process.execPath, "-e", CROWD, machine.agentSocket]);
      await until(
        `${who.name} has more connections than one user may`,
        () => crowd.out().includes("taken 300"),
        120_000,
      );
      return crowd;
    }

    test("while two users crowd the agent socket an operator sees the status, locks and unlocks", async () => {
      const crowds: Started[] = [];
      try {
        for (const who of [alfa, bravo]) crowds.push(await crowdOf(who));
        const status = await machine.status(ada);
        assert.deepEqual([status["locked"], status["stopped"]], [false, null]);
        await machine.must(ada, ["lock"]);
        assert.equal((await machine.status(ada))["locked"], true);
        await machine.must(ada, ["unlock"]);
        assert.equal((await machine.status(ada))["locked"], false);
      } finally {
        for (const crowd of crowds) await crowd.end();
      }
      const served = await machine.gw(alfa, ["actions"]);
      assert.equal(codeOf(served), "not_found", "agents are answered again, and no pack is trusted here");
    });
  },
);
