import { renderEssential } from "../src/conventions/approval/render.ts";
import type { JsonObject } from "../src/kernel/json.ts";
import type { ApprovalView } from "../src/surfaces/operator/answers.ts";
import { Astray } from "./astray.ts";
import type { Ground, Player, Stage } from "./stage.ts";

/** One part of the story: what is said, what is done, and what must come of it. */
export interface Scene {
  readonly name: string;
  readonly title: string;
  play(stage: Stage, tell: Narrator): Promise<void>;
}

export interface Narrator {
  /** What is going on, in the demo's own words. */
  say(text: string): void;
  /** Something that a program printed, or a card. */
  show(lines: readonly string[]): void;
}

export function expect(holds: boolean, told: string, seen: unknown): void {
  if (!holds) throw new Astray(`${told}; instead: ${typeof seen === "string" ? seen : JSON.stringify(seen)}`);
}

const TRIES = 600;
const LOOK_MS = 50;

/** The next question, shown as the person sees it. */
export async function nextCard(stage: Ground, tell: Narrator): Promise<ApprovalView> {
  for (let look = 0; look < TRIES; look++) {
    const [question] = await stage.operator.approvals();
    if (question !== undefined) {
      tell.show(renderEssential(question.card));
      return question;
    }
    await stage.sleep.sleep(LOOK_MS);
  }
  throw new Astray("a card should have come, and none did");
}

export async function approveNext(stage: Ground, tell: Narrator): Promise<ApprovalView> {
  const question = await nextCard(stage, tell);
  await stage.operator.decide(question, { decision: "approve", reason: null, narrow: null });
  tell.say("The operator approves: a signature over exactly this card.");
  return question;
}

/** The agent that stays, with the requests that the scenes need. */
export interface Actor {
  readonly player: Player;
  ask(order: { method?: "GET" | "POST"; path: string; body?: JsonObject; wait?: number }): Promise<Reply>;
  send(order: object): void;
  answer(): Promise<Reply>;
}

export interface Reply {
  readonly status: number;
  readonly body: JsonObject;
}

export async function startActor(stage: Ground): Promise<Actor> {
  const player = stage.agent();
  const answer = async (): Promise<Reply> => JSON.parse(await player.line()) as Reply;
  await answer();
  const send = (order: object): void => player.send(JSON.stringify(order));
  return {
    player,
    send,
    answer,
    ask(order) {
      send(order);
      return answer();
    },
  };
}

/** A run of this agent, approved. */
export async function openRun(
  stage: Ground,
  tell: Narrator,
  actor: Actor,
  purpose: string,
  actions: readonly string[],
): Promise<string> {
  actor.send({ method: "POST", path: "/v1/runs", body: { purpose, actions: [...actions] }, wait: 60 });
  await approveNext(stage, tell);
  const { status, body } = await actor.answer();
  expect(status === 201, "the run should be open", body);
  return String(body["run_id"]);
}

/** A call of the agent within its run. */
export function call(actor: Actor, run: string, action: string, input: JsonObject): Promise<Reply> {
  return actor.ask({ method: "POST", path: `/v1/runs/${run}/calls`, body: { action, input }, wait: 60 });
}

/** The body of the provider's answer inside a call's result. */
export function answerOf({ body }: Reply): JsonObject {
  return ((body["response"] as JsonObject | null)?.["body"] ?? {}) as JsonObject;
}
