import type { OperationBoard, OperationDetail } from "../../../../conventions/operation/summary.ts";
import { Unreachable } from "../../../client/connection.ts";
import type { Decision } from "../../../client/draft-decision.ts";
import type { OperatorClient } from "../../../client/operator.ts";
import type { OperatorNews } from "../../../client/reading.ts";
import type { ApprovalView } from "../../../operator/answers.ts";
import { detailOf, noOperations } from "./board.ts";
import { sessionOf } from "./session.ts";

/** A gateway's operator plane as far as a watcher uses it, without a gateway: what a test says happens, happens. */
export interface TestDesk {
  readonly client: OperatorClient;
  readonly decided: { readonly id: string; readonly decision: Decision }[];
  readonly open: Map<string, ApprovalView>;
  mode: string;
  up: boolean;
  logins: number;
  board: OperationBoard;
  /** What was asked about operations, in order: `cancel op_1 because`, `reconcile op_1`, `show op_1`. */
  readonly asked: string[];
  post(board: OperationBoard): void;
  tell(view: ApprovalView): void;
  /** The process is gone: the stream breaks, and nothing answers until `up`. */
  die(): void;
  connect(): Promise<OperatorClient>;
}

export function openDesk(): TestDesk {
  let wake: (() => void)[] = [];
  let broken = 0;
  const news: OperatorNews[] = [];
  const answer = <Value>(value: () => Value): Promise<Value> =>
    desk.up ? Promise.resolve(value()) : Promise.reject(new Unreachable("nobody there"));
  const client = {
    status: () => answer(() => ({ mode: desk.mode, locked: false })),
    approvals: () => answer(() => [...desk.open.values()]),
    decide: (approval: ApprovalView, decision: Decision) =>
      answer(() => {
        desk.decided.push({ id: approval.approval_id, decision });
        desk.open.delete(approval.approval_id);
        const state = decision.decision === "approve" ? "approved" : "denied";
        return { ...approval, state, decided_by: "ada", reason: decision.reason } as ApprovalView;
      }),
    extend: ({ approval_id: id }: ApprovalView) =>
      answer(() => ({ ...desk.open.get(id), expires_in_ms: 900_000 }) as ApprovalView),
    sessions: () => answer(() => [sessionOf("ses_1")]),
    revoke: () => answer(() => undefined),
    operation: (id: string) => answer(() => told(`show ${id}`, id)),
    askOperation: (errand: string, id: string, reason?: string) =>
      answer(() => told([errand, id, ...(reason === undefined ? [] : [reason])].join(" "), id)),
    async *watch(signal: AbortSignal) {
      const born = broken;
      let at = news.length;
      for (const view of desk.open.values()) yield { kind: "approval", view } as OperatorNews;
      yield { kind: "operations", board: desk.board } as OperatorNews;
      while (!signal.aborted) {
        while (at < news.length) yield news[at++] as OperatorNews;
        if (broken !== born) throw new Unreachable("the stream broke");
        await new Promise<void>((resolve) => {
          wake.push(resolve);
          signal.addEventListener("abort", () => resolve(), { once: true });
        });
      }
    },
    close: () => undefined,
  } as unknown as OperatorClient;
  const told = (asked: string, id: string): OperationDetail => {
    desk.asked.push(asked);
    const found = [...desk.board.shown, ...desk.board.ended].find(({ operation_id }) => operation_id === id);
    return detailOf(found === undefined ? { operation_id: id } : found);
  };
  const stir = (): void => {
    for (const resolve of wake) resolve();
    wake = [];
  };
  const desk: TestDesk = {
    client,
    decided: [],
    open: new Map(),
    mode: "guard-rail",
    up: true,
    logins: 0,
    board: noOperations,
    asked: [],
    tell(view) {
      if (view.state === "pending") desk.open.set(view.approval_id, view);
      else desk.open.delete(view.approval_id);
      news.push({ kind: "approval", view });
      stir();
    },
    post(board) {
      desk.board = board;
      news.push({ kind: "operations", board });
      stir();
    },
    die() {
      desk.up = false;
      broken++;
      stir();
    },
    connect() {
      desk.logins++;
      return answer(() => client);
    },
  };
  return desk;
}

/** Time that only the test moves; whoever sleeps wakes when it is past their hour. */
export interface TestTime {
  readonly clock: { bootMs(): number };
  readonly sleep: { sleep(ms: number, signal?: AbortSignal): Promise<void> };
  /** Moves in small steps, so that everybody who wakes has time to act. */
  pass(ms: number): Promise<void>;
  /** One jump: as when the program was stopped. */
  jump(ms: number): void;
}

export function openTime(): TestTime {
  let nowMs = 10_000;
  let sleepers: { readonly at: number; readonly wake: () => void }[] = [];
  const rouse = (): void => {
    const due = sleepers.filter(({ at }) => at <= nowMs);
    sleepers = sleepers.filter(({ at }) => at > nowMs);
    for (const { wake } of due) wake();
  };
  return {
    clock: { bootMs: () => nowMs },
    sleep: {
      sleep: (ms, signal) =>
        new Promise((resolve) => {
          if (signal?.aborted === true) return resolve();
          const sleeper = { at: nowMs + ms, wake: () => resolve() };
          sleepers.push(sleeper);
          signal?.addEventListener("abort", () => {
            sleepers = sleepers.filter((one) => one !== sleeper);
            resolve();
          });
        }),
    },
    async pass(ms) {
      for (const end = nowMs + ms; nowMs < end; ) {
        nowMs = Math.min(end, nowMs + 50);
        rouse();
        for (let turn = 0; turn < 20; turn++) await Promise.resolve();
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
    jump(ms) {
      nowMs += ms;
    },
  };
}
