import { AsyncLocalStorage } from "node:async_hooks";
import { createPrivateKey, createPublicKey, createSecretKey } from "node:crypto";
import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isSettled, operationStates } from "../../src/conventions/operation/state.ts";
import type { AuditSink, HttpTransport, StateStore } from "../../src/gateway/ports.ts";
import type { Step, StepPort } from "../../src/gateway/steps.ts";
import { Denied } from "../../src/kernel/failure.ts";
import type { OperationId, PlanId } from "../../src/kernel/ids.ts";
import { type ScriptedCaller, scriptedCaller } from "../support/caller.ts";
import { type Bench, type BenchOptions, secondOperator, startBench } from "../support/gateway.ts";
import { hostIn } from "./host.ts";
import { type CrashPoint, type LeapingTime, type Life, leapingTime, type Told } from "./life.ts";
import { CALLBACK_KEY, GRANT_FILE, packFor, SOURCE_SCENE, type Stage, scenes } from "./scenes.ts";
import { exchangeAt } from "./token-server.ts";

/**
 * The gateway of the crash tests: the product's own parts, put together with a step port that ends this very process.
 * No program that ships knows of such a port.
 */
export async function playLife(life: Life): Promise<void> {
  const tell: Stage["tell"] = (told) => appendFileSync(toldFile(life), `${JSON.stringify(told)}\n`);
  const time = leapingTime(life.epochMs);
  const { mortal, passed } = mortalAt(life.point, tell);
  const startAnother: Stage["startAnother"] = (more) => startPersonal(life, time, more);
  const bench = await startAnother(mortal);
  // The same agent in every life.
  const caller = scriptedCaller({ pid: 100 });
  try {
    await settleAll(bench);
    lookBack(life, tell, bench, caller);
    if (life.point === null) return;
    const play = scenes.get(life.scene)?.play;
    if (play === undefined) throw new Error(`there is no scene ${life.scene}`);
    await play({ bench, caller, life, tell, passed, settleAll, startAnother, mortal });
    // The scene went by without passing the point: whoever looks into it wants to know what came of it.
    for (const { id, state, problem } of bench.gateway.operations.list()) console.error(id, state, problem);
    console.error(
      readTold(life)
        .map((told) => (told.kind === "passed" ? told.step : JSON.stringify(told)))
        .join(" "),
    );
    process.exit(4);
  } finally {
    await bench.close();
    time.stop();
  }
}

/** What makes a gateway die at the point, and the steps that it has passed. */
function mortalAt(
  point: Life["point"],
  tell: Stage["tell"],
): { readonly mortal: Partial<BenchOptions>; readonly passed: ReadonlySet<Step> } {
  const die = (): void => void process.kill(process.pid, "SIGKILL");
  const isAt = (step: Step, moment: CrashPoint["moment"]): boolean => point?.step === step && point.moment === moment;
  /** Which step the writes of this chain of calls belong to: many go on side by side. */
  const current = new AsyncLocalStorage<{ readonly step: Step; log: boolean; store: boolean }>();
  /** The second of the two writes of the step begins: the first is on disk. */
  const between = (sink: "log" | "store"): void => {
    const passing = current.getStore();
    if (passing === undefined) return;
    if ((passing.log || passing.store) && isAt(passing.step, "half")) die();
    passing[sink] = true;
  };
  const passedSteps = new Set<Step>();
  const steps: StepPort = {
    before(step) {
      current.enterWith({ step, log: false, store: false });
      if (isAt(step, "before")) die();
    },
    after(step) {
      if (isAt(step, "after")) die();
      const passed = current.getStore();
      if (passed?.step !== step) return;
      tell({ kind: "passed", ...passed });
      passedSteps.add(step);
      // It has no half: somebody who lists it as having one is told.
      if (isAt(step, "half")) process.exit(3);
    },
  };
  const wrapAudit = (sink: AuditSink): AuditSink => ({
    head: () => sink.head(),
    hasRoom: () => sink.hasRoom(),
    append(events) {
      between("log");
      return sink.append(events);
    },
  });
  const wrapStore = (store: StateStore): StateStore => ({
    ...store,
    commit(rows, durability) {
      between("store");
      return store.commit(rows, durability);
    },
    change(table, id, change) {
      between("store");
      return store.change(table, id, change);
    },
  });
  return { mortal: { steps, wrapAudit, wrapStore }, passed: passedSteps };
}

/** A gateway on this store, with a person beside it who agrees to everything at once. */
async function startPersonal(life: Life, time: LeapingTime, more: Partial<BenchOptions>): Promise<Bench> {
  const held = (http: HttpTransport): HttpTransport => ({
    send: (receipt, request, credential, limits) => time.during(http.send(receipt, request, credential, limits)),
  });
  const wrapHttp = (http: HttpTransport): HttpTransport => more.wrapHttp?.(held(http)) ?? held(http);
  const made = await startBench(packFor(life.origin), { ...optionsOf(life), time, ...more, wrapHttp });
  const decided = new Set<string>();
  made.gateway.desk.watch((approval) => {
    const { approvalId, given } = approval;
    if (approval.card === null || approval.state !== "pending" || decided.has(`${approvalId} ${given.length}`)) return;
    decided.add(`${approvalId} ${given.length}`);
    const second = given.length > 0;
    const decision = second
      ? made.decision(approval, { operator: "bob", operator_key_id: "k2" }, secondOperator.privateKey)
      : made.decision(approval);
    setImmediate(() => void made.gateway.desk.decide(decision).catch(() => undefined));
  });
  return made;
}

function optionsOf(life: Life): BenchOptions {
  return {
    ...(life.tokens === null ? {} : { exchanged: readGrants(life.folder, life.tokens) }),
    ...(life.scene === SOURCE_SCENE ? { sourced: "reference" } : {}),
    folder: life.folder,
    stateKey: createSecretKey(Buffer.from(life.stateKey, "hex")),
    reading: {
      publicKey: createPublicKey(life.reading.publicKey),
      privateKey: createPrivateKey(life.reading.privateKey),
    },
    token: life.token,
    callbackKeys: { "reference reference-webhook": CALLBACK_KEY },
    credentials: [["reference", { eachUse: false, disabled: false, origin: life.origin }]],
    ssh: hostIn(life.folder),
  };
}

/** The credential as it is in the vault: what an operator gave last. */
function readGrants(folder: string, origin: string): NonNullable<BenchOptions["exchanged"]> {
  const read = () =>
    JSON.parse(readFileSync(join(folder, GRANT_FILE), "utf8")) as { readonly version: number; readonly secret: string };
  return {
    get reference() {
      return { ...read(), exchange: exchangeAt(origin) };
    },
  };
}

/** Until every operation has ended or waits for a person, in its row too. */
async function settleAll({ gateway, rows }: Bench): Promise<void> {
  const giveUpAt = Date.now() + 240_000;
  for (;;) {
    const open = gateway.operations.list().filter(({ state, problem }) => !isSettled(state) && problem === null);
    const unsettled = operationStates
      .filter((state) => !isSettled(state))
      .flatMap((state) => rows("operations", state));
    if (open.length === 0 && unsettled.every(({ problem }) => problem !== null)) return;
    if (Date.now() > giveUpAt) {
      throw new Error(`still open: ${open.map(({ id, state }) => `${id} ${state}`).join(", ")}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** What the agent of an earlier life asks now: its operations are there to read, its plans are spent. */
function lookBack(life: Life, tell: Stage["tell"], bench: Bench, caller: ScriptedCaller): void {
  const told = readTold(life);
  const born = told.findLastIndex(({ kind }) => kind === "born");
  tell({ kind: "born", tag: life.tag });
  for (const one of told.slice(born + 1)) {
    if (one.kind === "operation") {
      let state: string;
      try {
        state = bench.gateway.operation(caller, one.operationId as OperationId).state;
      } catch (error) {
        state = error instanceof Denied ? error.code : String(error);
      }
      tell({ kind: "found", operationId: one.operationId, state });
    }
    if (one.kind === "plan") {
      try {
        bench.gateway.startExecution(caller, one.planId as PlanId, one.revision);
        tell({ kind: "reused", planId: one.planId, code: "accepted" });
      } catch (error) {
        tell({ kind: "reused", planId: one.planId, code: error instanceof Denied ? error.code : String(error) });
      }
    }
  }
}

const toldFile = ({ folder }: Life): string => join(folder, "told");

function readTold(life: Life): readonly Told[] {
  try {
    return readFileSync(toldFile(life), "utf8")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as Told);
  } catch {
    return [];
  }
}
