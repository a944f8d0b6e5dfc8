import assert from "node:assert/strict";
import { compileSchema } from "../../packages/request/src/schema.ts";
import type { Gateway } from "../../src/gateway/gateway.ts";
import type { Call } from "../../src/gateway/run/run.ts";
import type { Clock } from "../../src/kernel/clock.ts";
import type { JsonValue } from "../../src/kernel/json.ts";
import { actionsAnswer, callAnswers, runAnswer } from "../../src/surfaces/agent/answers.ts";
import { actionRecord, pendingCallRecord, runRecord } from "../../src/surfaces/agent/records.ts";
import { approvalAnswer, newsAnswers, operationAnswer, sessionsAnswer } from "../../src/surfaces/operator/answers.ts";
import { createOperationRecords } from "../../src/surfaces/operator/operation-records.ts";
import { approvalRecord, sessionRecord } from "../../src/surfaces/operator/records.ts";

const results = compileSchema(callAnswers[200].schema);
const pendings = compileSchema(callAnswers[202].schema);
const runs = compileSchema(runAnswer);
const actions = compileSchema(actionsAnswer);
const approvals = compileSchema(approvalAnswer);
const operations = compileSchema(operationAnswer);
const boards = compileSchema(newsAnswers.operations);
const sessions = compileSchema(sessionsAnswer);

/**
 * Whatever a gateway of a test would tell its clients is held to what the routes declare: types alone let a member too many
 * pass, and our clients would refuse the answer. Throws, once the gateway is closed, for the first that does not fit.
 */
export function holdToDeclared(gateway: Gateway, clock: Clock): () => void {
  const wrong: string[] = [];
  const look = (what: string, check: ReturnType<typeof compileSchema>, record: unknown): void => {
    // As it would come over the socket.
    const [first] = check(JSON.parse(JSON.stringify(record)) as JsonValue);
    if (first !== undefined) wrong.push(`${what} ${first.path}: ${first.message}`);
  };
  const records = createOperationRecords(gateway, clock);
  const lookAround = (): void => {
    for (const operation of gateway.operations.list()) look("operation", operations, records.detail(operation));
    look("board", boards, records.board());
    const all = gateway.sessions();
    look(
      "sessions",
      sessions,
      all.map((one) => sessionRecord(one, gateway.runOf(one))),
    );
    for (const one of all) {
      const run = gateway.runOf(one);
      if (run !== undefined) look("run", runs, runRecord(run, one));
    }
    look("actions", actions, gateway.actions().map(actionRecord));
  };
  gateway.desk.watch((approval) => look("approval", approvals, approvalRecord(approval, clock.bootMs())));
  const heard = gateway as { -readonly [Name in keyof Gateway]: Gateway[Name] };
  const hear =
    <Given extends readonly never[]>(start: (...given: Given) => Call) =>
    (...given: Given): Call => {
      const call = start(...given);
      look("pending call", pendings, pendingCallRecord(call));
      call.done.then((result) => look("result", results, result)).catch(() => undefined);
      return call;
    };
  heard.startCall = hear(gateway.startCall as never) as never;
  heard.startPlan = hear(gateway.startPlan as never) as never;
  heard.startExecution = hear(gateway.startExecution as never) as never;
  heard.startErrand = hear(gateway.startErrand as never) as never;
  return () => {
    lookAround();
    assert.deepEqual(wrong, []);
  };
}
