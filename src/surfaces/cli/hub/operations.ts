import { type ErrandStatement, signStatement } from "../../../conventions/approval/decision.ts";
import { renderOperation } from "../../../conventions/operation/render.ts";
import { compareUrgency } from "../../../conventions/operation/summary.ts";
import { isoTime } from "../../../kernel/clock.ts";
import { showIdentifier, showText } from "../../../kernel/display.ts";
import { Denied } from "../../../kernel/failure.ts";
import { readId } from "../../../kernel/ids.ts";
import { settlementOf } from "../../client/settlement.ts";
import { answering } from "../answer.ts";
import type { CliDeps } from "../commands/deps.ts";
import { type CliIo, type Exit, exits } from "../io.ts";
import { type OperationOptions, rowsOf } from "../operator/operations.ts";
import { besideOf, type Cards, type FoundOperation, findOperations } from "./cards.ts";
import { type HubSession, type OnHub, onHub, readingHub } from "./hub-session.ts";
import { say } from "./say.ts";

type HubOperationOptions = OperationOptions & OnHub;

/** `gw operation list --hub URL`: what is open on all gateways of the vault, as each showed it last. */
export function runHubOperationList(options: HubOperationOptions, deps: CliDeps): Promise<Exit> {
  const { io } = deps;
  return readingHub(options, deps, async (session) => {
    const found = (await findOperations(session, besideOf(io)))
      .filter(({ operation, takenBy }) => options.all === true || (!operation.settled && takenBy === null))
      .sort((one, other) => compareUrgency(one.operation, other.operation));
    if (options.json) io.out(JSON.stringify(found.map(recordOf), null, 2));
    else if (found.length === 0) io.out("No operation is open on any gateway. What has ended: gw activity --hub URL");
    for (const { speaker, operation } of options.json ? [] : found) {
      io.out(`on ${showIdentifier(speaker.gateway)}`);
      for (const line of rowsOf(operation)) io.out(line);
    }
    return exits.done;
  });
}

/** `gw operation show ID --hub URL`. */
export function runHubOperationShow(id: string, options: HubOperationOptions, deps: CliDeps): Promise<Exit> {
  const show = async (session: Cards): Promise<Exit> => {
    const [found] = await findShown(session, id, deps);
    if (options.json) deps.io.out(JSON.stringify(recordOf(found), null, 2));
    else for (const line of linesOf(found)) deps.io.out(line);
    return exits.done;
  };
  return aboutOne(id, deps, () => readingHub(options, deps, show));
}

/** `gw operation settle ID --hub URL`: the same signed word as on the host; played again, it finds one that has ended. */
export function runHubSettle(id: string, options: HubOperationOptions, deps: CliDeps): Promise<Exit> {
  const { io } = deps;
  const { happened, reason = "", although = null } = options;
  const requireSense = (): void => {
    if (happened !== "yes" && happened !== "no")
      throw new Denied("schema_violation", "--happened takes yes or no: what you found at the provider.");
  };
  const settle = async (session: HubSession): Promise<Exit> => {
    const shown = await findShown(session, id, deps);
    const operation = requireSame(shown);
    const speakers = shown.map(({ speaker }) => speaker);
    const gateway = speakers.map((one) => one.gateway).join(", ");
    const { operator } = session;
    const statement = settlementOf(operation, { happened: happened === "yes", reason, although }, operator, deps.clock);
    io.err("You sign exactly this:");
    for (const [name, value] of Object.entries(statement)) io.err(`  ${name}: ${showText(String(value))}`);
    const body = JSON.stringify(signStatement(statement, operator.approver));
    const state = await say({ ...session, speakers }, body, deps);
    if (options.json) io.out(JSON.stringify({ operation_id: id, gateway, state }, null, 2));
    else if (state !== null) io.out(`${showIdentifier(id)} is ${showIdentifier(state)}.`);
    else io.err("It is signed and on the hub, and the gateway has not answered yet. It takes it when it is back.");
    return state === null ? exits.pending : exits.done;
  };
  return aboutOne(id, deps, () => onHub(options, deps, settle), requireSense);
}

/** `gw operation cancel|resume|reconcile ID --hub URL`: one thing asked of one operation, signed for one time. */
export function runHubErrand(
  errand: ErrandStatement["errand"],
  id: string,
  options: HubOperationOptions,
  deps: CliDeps,
): Promise<Exit> {
  const { io } = deps;
  const ask = async (session: HubSession): Promise<Exit> => {
    const { gateway, state } = await askErrand(session, errand, id, options.reason ?? "no reason given", deps);
    if (options.json) io.out(JSON.stringify({ operation_id: id, gateway, errand, state }, null, 2));
    else if (state !== null)
      io.out(`${showIdentifier(id)} is ${showIdentifier(state)}. See: gw operation show ID --hub URL`);
    else io.err("It is signed and on the hub, and the gateway has not answered yet. It is taken within a day, once.");
    return state === null ? exits.pending : exits.done;
  };
  return aboutOne(id, deps, () => onHub(options, deps, ask));
}

/** What could not be one is told before anything is typed. */
function aboutOne(
  id: string,
  deps: CliDeps,
  work: () => Promise<Exit>,
  requireSense: () => void = () => undefined,
): Promise<Exit> {
  return answering(deps.io, () => {
    requireSense();
    if (readId("op", id) === undefined) throw notOpen(id);
    return work();
  });
}

/** Signs it for the one gateway that shows the operation, and says what that answers; null where it has not yet. */
export async function askErrand(
  hub: Pick<HubSession, "connection" | "speakers" | "operator">,
  errand: ErrandStatement["errand"],
  id: string,
  reason: string,
  deps: CliDeps,
): Promise<Pick<FoundOperation, "operation"> & { readonly gateway: string; readonly state: string | null }> {
  const { operator } = hub;
  const { speaker, operation } = requireOne(await findShown(hub, id, deps));
  const { gateway } = speaker;
  const statement: ErrandStatement = {
    format: "gw.errand/v1",
    vault_id: operator.vaultId,
    gateway,
    operation_id: id,
    request_fingerprint: operation.request_fingerprint,
    errand,
    reason,
    nonce: deps.random.bytes(16).toString("hex"),
    operator: operator.name,
    operator_key_id: operator.keyId,
    decided_at: isoTime(deps.clock.wallMs()),
  };
  const body = JSON.stringify(signStatement(statement, operator.approver));
  return { operation, gateway, state: await say({ ...hub, speakers: [speaker] }, body, deps) };
}

type Shown = readonly [FoundOperation, ...FoundOperation[]];

/** A host that died still shows what another has taken over since: whoever has it answers. */
export async function findShown(
  session: Cards,
  id: string,
  { io }: { readonly io: Pick<CliIo, "err"> },
): Promise<Shown> {
  const all = (await findOperations(session, besideOf(io))).filter(({ operation }) => operation.operation_id === id);
  const [first, ...others] = all.filter(({ takenBy }) => takenBy === null);
  if (first !== undefined) return [first, ...others];
  const [left] = all;
  if (left !== undefined)
    throw new Denied(
      "operation_taken_over",
      `${showIdentifier(String(left.takenBy))} took over what ${showIdentifier(left.speaker.gateway)} had, and shows no such operation as open: it ended there, or is being brought home. Nothing was signed. See: gw activity --hub URL`,
    );
  throw notOpen(id);
}

function notOpen(id: string): Denied {
  return new Denied(
    "not_found",
    `${showIdentifier(id)} is not open on a gateway of this hub. See: gw operation list --hub URL`,
  );
}

/** An owned host may show something of its own under the name of another's operation. */
export function requireSame([first, ...others]: Shown): FoundOperation["operation"] {
  const { operation_id, request_fingerprint: fingerprint } = first.operation;
  const other = others.find(({ operation }) => operation.request_fingerprint !== fingerprint);
  if (other === undefined) return first.operation;
  throw new Denied(
    "card_mismatch",
    `${showIdentifier(first.speaker.gateway)} and ${showIdentifier(other.speaker.gateway)} show different requests as ${showIdentifier(operation_id)}. Nothing was signed. Look at both hosts, and settle it on its own.`,
  );
}

/** What is asked once is asked of one: two that have the same operation would both do it. */
function requireOne(shown: Shown): FoundOperation {
  const { operation_id } = requireSame(shown);
  const [first, other] = shown;
  if (other === undefined) return first;
  throw new Denied(
    "card_mismatch",
    `${showIdentifier(first.speaker.gateway)} and ${showIdentifier(other.speaker.gateway)} both show ${showIdentifier(operation_id)}. Nothing was signed. Find out which of them has it, and ask on that host itself.`,
  );
}

function recordOf({ speaker, operation }: FoundOperation) {
  return { gateway: speaker.gateway, ...operation };
}

function linesOf({ speaker, operation }: FoundOperation): readonly string[] {
  return [`on ${showIdentifier(speaker.gateway)}`, ...renderOperation(operation)];
}
