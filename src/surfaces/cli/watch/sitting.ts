import type { Card } from "../../../conventions/approval/card.ts";
import type { Narrowing } from "../../../conventions/approval/decision.ts";
import type { OperationDetail } from "../../../conventions/operation/summary.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { showText } from "../../../kernel/display.ts";
import { Denied } from "../../../kernel/failure.ts";
import type { Secret } from "../../../kernel/secret.ts";
import type { WhereWords } from "../operator/where.ts";
import { type FeedPorts, inTime, reasonOf, startFeed, type WatchClient } from "./feed.ts";
import { createKeyDecoder, type Key } from "./keys.ts";
import type { Line } from "./line.ts";
import { step, type WatchEvent } from "./model.ts";
import type { Notifier } from "./notify.ts";
import { paintLines, ringBell } from "./paint.ts";
import { type SecretAnswer, takesSecret } from "./prompt.ts";
import { createSecretLine } from "./secret-line.ts";
import { sessionLine, sortSessions } from "./sessions.ts";
import { type Errand, startState, type WatchEffect, type WatchState } from "./state.ts";
import type { WatchTerminal } from "./terminal-screen.ts";
import { viewWatch } from "./view.ts";

export interface SittingOptions extends Omit<FeedPorts, "tell"> {
  readonly terminal: WatchTerminal;
  readonly color: boolean;
  readonly operator: string;
  readonly hasPin: boolean;
  readonly client: WatchClient;
  /** Null where there is no desktop to tell. */
  readonly notify: Notifier | null;
  check(which: "pin" | "passphrase", secret: Secret): Promise<SecretAnswer>;
  /** Signs a grant that was written beside a card. Who has not taken it yet, of the gateways on a hub. */
  addGrant(line: string): Promise<readonly string[]>;
  /** How long one signed word may take: a hub tells only in the end that nobody has answered. */
  readonly answerMs: number;
  /** What was typed about arguments, held against the trusted packs and the card. Denied where it does not fit. */
  readWhere(said: readonly WhereWords[], card: Card): Pick<Narrowing, "where">;
}

export interface Sitting {
  readonly ended: Promise<{ readonly waiting: number; readonly underWay: string | null }>;
}

/**
 * One sitting of a person at the terminal. It only carries: bytes to keys, keys and news to the model, the model's view to
 * the screen, and its effects to the gateway. What is typed of a secret goes round the model.
 */
export function startSitting(options: SittingOptions): Sitting {
  const { terminal, clock, sleep } = options;
  const stop = new AbortController();
  const keys = createKeyDecoder();
  const secret = createSecretLine();
  let state: WatchState = startState(
    options.operator,
    options.hasPin,
    terminal.size(),
    clock.bootMs(),
    defaults.cardSteadyMs,
  );
  let drawn: readonly Line[] | null = null;
  let drawnMs = 0;
  let awakeMs = clock.bootMs();

  function dispatch(event: WatchEvent): void {
    if (stop.signal.aborted) return;
    const next = step(state, event, clock.bootMs());
    state = next.state;
    for (const effect of next.effects) perform(effect);
    draw();
  }

  function draw(): void {
    if (stop.signal.aborted) return;
    const nowMs = clock.bootMs();
    // Once a second all of it: another program may have written on this terminal.
    if (nowMs - drawnMs >= 1_000) drawn = null;
    if (drawn === null) drawnMs = nowMs;
    const lines = viewWatch(state);
    const text = paintLines(lines, drawn, options.color);
    drawn = lines;
    if (text !== "") terminal.write(text);
  }

  /** Keys that piled up while we did not run were typed at a screen that is not the one of now. */
  function wakeUp(): void {
    const nowMs = clock.bootMs();
    if (nowMs - awakeMs > defaults.watchStallMs) dispatch({ kind: "stalled" });
    awakeMs = nowMs;
  }

  function takeKey(key: Key): void {
    state = step(state, { kind: "tick" }, clock.bootMs()).state;
    if (takesSecret(state) && typeSecret(key)) {
      dispatch({ kind: "secretTyped", length: secret.characters });
      return;
    }
    if (key.kind !== "paste") dispatch({ kind: "key", key });
    else dispatch({ kind: "key", key: { kind: "paste", text: pastedText(key.bytes) } });
    if (key.kind === "paste") key.bytes.fill(0);
  }

  function typeSecret(key: Key): boolean {
    switch (key.kind) {
      case "text":
        secret.add(Buffer.from(key.point, "utf8"));
        return true;
      case "paste":
        secret.add(key.bytes);
        key.bytes.fill(0);
        return true;
      case "backspace":
        secret.drop();
        return true;
      case "kill":
        secret.clear();
        return true;
      default:
        return false;
    }
  }

  function perform(effect: WatchEffect): void {
    switch (effect.kind) {
      case "quit":
        stop.abort();
        return;
      case "ring":
        terminal.write(ringBell(effect.text));
        options.notify?.(effect.text);
        return;
      case "redraw":
        drawn = null;
        return;
      case "clearSecret":
        secret.clear();
        return;
      case "checkSecret":
        void checkTyped(effect.which, effect.attempt);
        return;
      case "decide":
        void ask(effect.grant === undefined ? 1 : 2, async () => {
          // What cannot be approved is said before the grant is signed.
          const narrow = narrowedBy(effect);
          const behind = effect.grant === undefined ? [] : await options.addGrant(effect.grant);
          const view = await feed.client().decide(effect.approval, { ...effect, narrow });
          return { kind: "decided", view, behind };
        });
        return;
      case "checkWhere":
        dispatch({ kind: "whereChecked", approvalId: effect.approvalId, problem: problemOf(effect) });
        return;
      case "extend":
        void ask(1, async () => ({
          kind: "extended",
          view: await feed.client().extend(effect.approval, effect.seconds),
        }));
        return;
      case "revoke":
        void ask(1, async () => {
          await feed.client().revoke(effect.sessionId, effect.reason);
          return { kind: "revoked", sessionId: effect.sessionId };
        });
        return;
      case "loadSessions":
        void loadSessions();
        return;
      case "loadOperation":
        void loadOperation(effect.operationId);
        return;
      case "cancelOperation":
        void runErrand("cancel", () => feed.client().askOperation("cancel", effect.operationId, effect.reason));
        return;
      case "reconcileOperation":
        void runErrand("reconcile", () => feed.client().askOperation("reconcile", effect.operationId));
        return;
    }
  }

  function narrowedBy({ narrow, where = [], approval }: WatchEffect & { readonly kind: "decide" }): Narrowing | null {
    if (where.length === 0) return narrow;
    const none = { actions: null, request_bytes: null, budget: null };
    return { ...(narrow ?? none), ...options.readWhere(where, approval.card) };
  }

  function problemOf({ approvalId, where }: WatchEffect & { readonly kind: "checkWhere" }): string | null {
    const item = state.queue.find(({ view }) => view.approval_id === approvalId);
    if (item === undefined) return null;
    try {
      options.readWhere(where, item.view.card);
      return null;
    } catch (error) {
      if (error instanceof Denied) return error.message;
      throw error;
    }
  }

  async function ask(words: number, work: () => Promise<WatchEvent>): Promise<void> {
    try {
      dispatch(await inTime(work(), sleep, stop.signal, words * options.answerMs));
    } catch (error) {
      if (error instanceof Denied) dispatch({ kind: "refused", code: error.code, message: error.message });
      else dispatch({ kind: "silent", message: reasonOf(error) });
    }
  }

  /** It ends when the provider has answered the gateway, so it is given that long. */
  async function runErrand(errand: Errand["kind"], work: () => Promise<OperationDetail>): Promise<void> {
    try {
      const limitMs = options.answerMs + defaults.callTimeoutMs;
      dispatch({ kind: "errandDone", errand, detail: await inTime(work(), sleep, stop.signal, limitMs) });
    } catch (error) {
      const text =
        error instanceof Denied
          ? `refused, ${error.code}: ${showText(error.message)}`
          : `no answer: it is NOT KNOWN whether that took effect (${showText(reasonOf(error))})`;
      dispatch({ kind: "errandFailed", text });
    }
  }

  async function loadOperation(id: string): Promise<void> {
    try {
      dispatch({ kind: "operation", detail: await inTime(feed.client().operation(id), sleep, stop.signal) });
    } catch (error) {
      if (error instanceof Denied) dispatch({ kind: "operationRefused", code: error.code });
    }
  }

  async function checkTyped(which: "pin" | "passphrase", attempt: number): Promise<void> {
    let answer: SecretAnswer;
    try {
      answer = await options.check(which, secret.take());
    } catch (error) {
      answer = { kind: "passphrase", right: false, why: reasonOf(error) };
    }
    dispatch({ kind: "secretChecked", attempt, answer });
  }

  async function loadSessions(): Promise<void> {
    try {
      const records = await inTime(feed.client().sessions(), sleep, stop.signal);
      dispatch({ kind: "sessions", sessions: sortSessions(records.map(sessionLine)) });
    } catch {
      // The line at the top says that there is no connection; the list is asked for again at the next turn.
    }
  }

  async function tickAlong(): Promise<void> {
    while (!stop.signal.aborted) {
      await sleep.sleep(defaults.watchTickMs, stop.signal);
      wakeUp();
      for (const key of keys.waiting ? keys.flush() : []) takeKey(key);
      dispatch({ kind: "tick" });
    }
  }

  const feed = startFeed(
    options.client,
    {
      ...options,
      tell(event) {
        dispatch(event);
        if (event.kind === "list" && state.screen.kind === "sessions") void loadSessions();
      },
    },
    stop.signal,
  );

  async function sit(): Promise<{ readonly waiting: number; readonly underWay: string | null }> {
    try {
      await tickAlong();
    } finally {
      stop.abort();
      secret.clear();
      terminal.close();
    }
    return { waiting: state.queue.length, underWay: state.busy?.id ?? null };
  }

  terminal.open({
    bytes(chunk) {
      wakeUp();
      for (const key of keys.feed(chunk)) takeKey(key);
      chunk.fill(0);
    },
    resized: () => dispatch({ kind: "resized", size: terminal.size() }),
    woken() {
      drawn = null;
      dispatch({ kind: "stalled" });
    },
    ended: () => stop.abort(),
  });
  draw();
  return { ended: sit() };
}

/** Only what a person could have typed on one line. */
function pastedText(bytes: Buffer): string {
  const text = bytes.toString("utf8").replace(/[\r\n\t]+/g, " ");
  return [...text].filter((point) => showText(`x${point}x`) === `x${point}x`).join("");
}
