import { call, expect, openRun, type Scene, startActor } from "../scene.ts";

const ACTION = "reference.project.get";
const INPUT = { project_id: "atlas" };

export const revoke: Scene = {
  name: "revoke",
  title: "A person takes an approval back",
  async play(stage, tell) {
    const actor = await startActor(stage);
    const run = await openRun(stage, tell, actor, "look at projects for an hour", [ACTION]);
    expect((await call(actor, run, ACTION, INPUT)).status === 200, "the first call should work", "it did not");
    const session = (await stage.operator.sessions()).find(({ run_id }) => run_id === run);
    await stage.operator.revoke(String(session?.["session_id"]), "lunch is over");
    const { body } = await call(actor, run, ACTION, INPUT);
    expect(body["code"] === "session_ended", "the next call should be refused", body);
    tell.say("It worked once; then the operator revoked the session. The next call of the same process:");
    tell.show([`${String(body["code"])}: ${String(body["message"])}`]);
    actor.player.stop();
    await actor.player.ended;
  },
};

export const replaced: Scene = {
  name: "replaced",
  title: "A process that became another program is refused",
  async play(stage, tell) {
    const actor = await startActor(stage);
    const run = await openRun(stage, tell, actor, "read one project", [ACTION]);
    expect((await call(actor, run, ACTION, INPUT)).status === 200, "the first call should work", "it did not");
    actor.send({ exec: true });
    const { body: again } = await actor.answer();
    expect(again["pid"] === actor.player.pid, "it should be the same process", again);
    const { body } = await call(actor, run, ACTION, INPUT);
    expect(body["code"] === "not_found", "the new image should have nothing", body);
    tell.say(
      `Process ${String(again["pid"])} replaced its image (execve): same pid, same program file, and still not what was approved:`,
    );
    tell.show([`${String(body["code"])}: ${String(body["message"])}`]);
    actor.player.stop();
    await actor.player.ended;
  },
};
