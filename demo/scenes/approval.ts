import { approveNext, expect, nextCard, type Scene } from "../scene.ts";

const CALL = ["call", "reference.project.get", "project_id=atlas"] as const;

export const approve: Scene = {
  name: "approve",
  title: "An agent asks, a person approves",
  async play(stage, tell) {
    tell.say(`An agent runs: gw ${CALL.join(" ")}. It holds no token. The gateway asks a person and shows this card.`);
    const agent = stage.gw([...CALL, "--home", stage.home]);
    await approveNext(stage, tell);
    const { exit, out, err } = await agent.ended;
    expect(exit === 0 && out.includes('"atlas"'), "the agent should get the project", out + err);
    tell.say("The gateway put the token in, sent it, and gave the agent the answer without it:");
    tell.show(out.trimEnd().split("\n"));
  },
};

export const deny: Scene = {
  name: "deny",
  title: "A person denies, and the agent learns why",
  async play(stage, tell) {
    const agent = stage.gw([
      "call",
      "reference.report.create",
      "account=a1",
      "format=csv",
      "--input",
      '{"range":{"start":"2026-01-01","end":"2026-01-31"}}',
      "--home",
      stage.home,
    ]);
    const question = await nextCard(stage, tell);
    const reason = "not before the books are closed";
    await stage.operator.decide(question, { decision: "deny", reason, narrow: null });
    const { exit, err } = await agent.ended;
    expect(exit === 1 && err.includes("approval_denied") && err.includes(reason), "the agent should be refused", err);
    tell.say("The operator denies with a reason. Nothing was sent. What the agent sees (exit 1):");
    tell.show(err.trimEnd().split("\n"));
  },
};

export const eachUse: Scene = {
  name: "each_use",
  title: "A credential that asks for every single use",
  async play(stage, tell) {
    tell.say("This credential is marked each-use. An approved session is not enough: each call has its own card.");
    const twice = `for n in 1 2; do "$0" call guarded.project.get project_id=borealis; done`;
    const agent = stage.gw([
      "run",
      "--home",
      stage.home,
      "--actions",
      "guarded.*",
      "--",
      "sh",
      "-c",
      twice,
      stage.program,
    ]);
    await approveNext(stage, tell);
    for (const use of ["first", "second"]) {
      const { mode } = await approveNext(stage, tell);
      expect(mode === "each_use", `the ${use} use should have a card of its own`, mode);
    }
    const { exit, err } = await agent.ended;
    expect(exit === 0 && err.includes("2 calls: 2 success"), "both calls should be done", err);
    tell.show(err.trimEnd().split("\n"));
  },
};

export const budget: Scene = {
  name: "budget",
  title: "The budget of a run stops it",
  async play(stage, tell) {
    tell.say("gw run wraps an agent that shells out: one card for all it starts, and a budget of two sends.");
    const thrice = `for n in 1 2 3; do "$0" call reference.project.get project_id=atlas --json >/dev/null || echo "call $n: exit $?"; done`;
    const args = [
      "run",
      "--home",
      stage.home,
      "--actions",
      "reference.project.get",
      "--attempts",
      "2",
      "--",
      "sh",
      "-c",
      thrice,
      stage.program,
    ];
    const agent = stage.gw(args);
    await approveNext(stage, tell);
    const { out, err } = await agent.ended;
    expect(out.trim() === "call 3: exit 1", "the third call should be refused", out + err);
    expect(err.includes("attempts_exhausted"), "the refusal should name the budget", err);
    tell.show([...out.trimEnd().split("\n"), ...err.trimEnd().split("\n")]);
  },
};
