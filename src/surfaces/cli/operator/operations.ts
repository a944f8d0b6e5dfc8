import type { OperationErrand } from "../../../conventions/operation/errand.ts";
import { renderOperation, renderShortly } from "../../../conventions/operation/render.ts";
import { compareUrgency, needsPerson, type OperationDetail } from "../../../conventions/operation/summary.ts";
import type { Code } from "../../../kernel/codes.ts";
import { counted, showIdentifier, showText } from "../../../kernel/display.ts";
import { Denied } from "../../../kernel/failure.ts";
import { readId } from "../../../kernel/ids.ts";
import { readStatus } from "../../client/read-status.ts";
import { answering } from "../answer.ts";
import type { CliDeps } from "../commands/deps.ts";
import { type Exit, exits } from "../io.ts";
import { type OperatorOptions, operatorDoor } from "../options.ts";
import { hangOf, sayProse } from "../say-prose.ts";
import { lookFirst, withGateway, withReadingGateway } from "./session.ts";

export interface OperationOptions extends OperatorOptions {
  readonly reason?: string;
  readonly all?: boolean;
  /** yes or no, as the person found out. */
  readonly happened?: string;
  readonly although?: string;
}

/** `gw operation list`: what is open, the most urgent first, and with --all what has ended lately. */
export function runOperationList(options: OperationOptions, deps: CliDeps): Promise<Exit> {
  const { io } = deps;
  return answering(io, () =>
    withReadingGateway(options, deps, async ({ client }) => {
      const all = await client.operations();
      const found = all.filter(({ settled }) => options.all === true || !settled).sort(compareUrgency);
      if (options.json) io.out(JSON.stringify(found, null, 2));
      else for (const line of listLines(found, all)) sayProse(io, line, hangOf(line));
      return exits.done;
    }),
  );
}

function listLines(found: readonly OperationDetail[], all: readonly OperationDetail[]): readonly string[] {
  const open = all.filter(({ settled }) => !settled);
  const waiting = open.filter(needsPerson).length;
  const ended = all.length - open.length;
  const hidden = found.length < all.length && ended > 0 ? ` ${ended} ended lately: gw operation list --all` : "";
  if (open.length === 0) return [`No operation is open.${hidden}`, ...found.flatMap(rowsOf)];
  const need = waiting === 0 ? "" : `, ${waiting} need${waiting === 1 ? "s" : ""} a person`;
  return [`${open.length} open${need}.${hidden}`, ...found.flatMap(rowsOf)];
}

export function rowsOf(operation: OperationDetail): readonly string[] {
  const [first, second] = renderShortly(operation);
  return [first, `    ${showIdentifier(operation.operation_id)}, ${operation.state}`, second];
}

/** `gw operation show ID`, and what may be asked about one. */
export function runOperation(
  verb: "show" | OperationErrand,
  id: string,
  options: OperationOptions,
  deps: CliDeps,
): Promise<Exit> {
  const { io } = deps;
  return answering(io, async () => {
    await requireSense(verb, id, options, deps);
    const tell = (operation: OperationDetail): Exit => {
      if (options.json) io.out(JSON.stringify(operation, null, 2));
      else {
        const after = sayAfter(verb, operation);
        if (after !== null) io.err(after);
        for (const line of renderOperation(operation)) sayProse(io, line, hangOf(line));
      }
      return verb === "reconcile" && needsPerson(operation) ? exits.unknown : exits.done;
    };
    if (verb === "show") {
      return withReadingGateway(options, deps, async ({ client }) => tell(await client.operation(id)));
    }
    return withGateway(options, deps, async ({ client }) => {
      const reason = options.reason ?? "no reason given";
      return tell(await client.askOperation(verb, id, reason));
    });
  });
}

/** `gw operation adopt GATEWAY`: what another gateway had under way is observed and settled here from now on. */
export function runAdopt(name: string, options: OperationOptions, deps: CliDeps): Promise<Exit> {
  const { io } = deps;
  return answering(io, () =>
    withGateway(options, deps, async ({ client }) => {
      const taken = await client.adoptOperations(name);
      const { operations, deployments, minted } = taken;
      const of = showIdentifier(name);
      if (options.json) io.out(JSON.stringify({ gateway: name, ...taken }, null, 2));
      else if (operations + deployments + minted === 0)
        io.out(`${of} had nothing under way, or this gateway has it already.`);
      else io.out(`${operations} of ${of} are looked after here now: gw operation list --all`);
      if (!options.json && deployments > 0)
        io.out(`${deployments} that ${of} deployed can be undone from here, and from there no more.`);
      if (!options.json && minted > 0)
        io.out(`Here now, and brought to ${of} by answers: ${counted(minted, "secret")}. See: gw credential minted`);
      return exits.done;
    }),
  );
}

/** `gw operation settle ID`: a signature over what the person says became of it, shown as it is signed. */
export function runSettle(id: string, options: OperationOptions, deps: CliDeps): Promise<Exit> {
  const { io } = deps;
  return answering(io, async () => {
    const { happened, reason = "", although = null } = options;
    if (happened !== "yes" && happened !== "no") {
      throw new Denied("schema_violation", "--happened takes yes or no: what you found at the provider.");
    }
    await requireSense("settle", id, options, deps);
    return withGateway(options, deps, async ({ client }) => {
      const before = await client.operation(id);
      if (before.settled) {
        throw new Denied("operation_settled", `${id} has ended already: ${before.state}. Nothing was signed.`);
      }
      const said = { happened: happened === "yes", reason, although };
      const after = await client.settleOperation(before, said, (statement) => {
        io.err("You sign exactly this:");
        for (const [name, value] of Object.entries(statement)) io.err(`  ${name}: ${showText(String(value))}`);
      });
      if (options.json) io.out(JSON.stringify(after, null, 2));
      else for (const line of renderOperation(after)) sayProse(io, line, hangOf(line));
      return exits.done;
    });
  });
}

/** What would be refused is refused before anybody types a secret: by what the open door tells, and by what a login may read. */
async function requireSense(verb: Verb, id: string, options: OperationOptions, deps: CliDeps): Promise<void> {
  if (readId("op", id) === undefined) {
    throw new Denied("not_found", `"${showText(id)}" is no operation. See them with: gw operation list`);
  }
  if (verb === "show") return;
  const { locked } = await readStatus(operatorDoor(options));
  if (locked === true) {
    throw new Denied("gateway_locked", "The gateway is locked: it reads and sends nothing. Unlock it first: gw unlock");
  }
  await lookFirst(options, deps, async (client) => {
    const { state, settled, unreadable } = await client.operation(id);
    if (settled && verb !== "resume")
      throw new Denied("operation_settled", `It has ended already: ${state}. Nothing was asked.`);
    if (verb !== "reconcile" || unreadable === null) return;
    throw new Denied(unreadable.code as Code, `Nothing can be read for it: ${unreadable.detail}. Nothing was asked.`);
  });
}

type Verb = "show" | OperationErrand | "settle";

/** What has been done now, and what has not: a request is no end. */
function sayAfter(verb: "show" | OperationErrand, operation: OperationDetail): string | null {
  switch (verb) {
    case "show":
      return null;
    case "cancel":
      return operation.settled
        ? "It has ended; the state below is what the provider reports."
        : "The provider was asked to stop it. How it ends is what the provider reports: gw watch, or gw operation show.";
    case "resume":
      return "The provider was asked to go on. It is looked at again from here.";
    case "reconcile":
      if (needsPerson(operation)) return "The read settled nothing: it still needs a person. Nothing was sent again.";
      return operation.settled ? "The read settled it." : "It was read; it has not ended yet.";
  }
}
