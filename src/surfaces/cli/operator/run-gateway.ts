import { type Code, codes } from "../../../kernel/codes.ts";
import { counted, printable, showIdentifier } from "../../../kernel/display.ts";
import { Denied } from "../../../kernel/failure.ts";
import { isJsonObject, type JsonObject } from "../../../kernel/json.ts";
import { isGoingBack } from "../../../vault/high-water.ts";
import { openConnection } from "../../client/connection.ts";
import { ordersOf } from "../../client/orders.ts";
import { mayPass, readStatus } from "../../client/read-status.ts";
import type { Status } from "../../operator/answers.ts";
import { answering } from "../answer.ts";
import type { CliDeps, GatewayProcess } from "../commands/deps.ts";
import { hubLines, waitingKeyLines } from "../hub/status-lines.ts";
import { type CliIo, type Exit, exits } from "../io.ts";
import { type BaseOptions, type OperatorOptions, operatorDoor } from "../options.ts";
import { sayProse } from "../say-prose.ts";
import { isUnlockable } from "../vault/open-keys.ts";
import { type VaultSession, withOperator } from "../vault/session.ts";
import { endLogin } from "./login.ts";
import { attestLog, type GatewaySession, logIn, requireSomebody, type SessionDeps, withGateway } from "./session.ts";

export interface UpOptions extends OperatorOptions {
  readonly keyFile?: string;
  readonly config?: string;
  readonly locked: boolean;
}

/** `gw up`: starts the gateway and hands it the service key. The passphrase stays in this process. */
export function runUp(options: UpOptions, deps: CliDeps): Promise<Exit> {
  return answering(deps.io, async () => {
    const { home, config } = options;
    const asks = !options.locked && options.keyFile === undefined;
    const gateway =
      asks && (await isUnlockable(home, options, deps.io, deps.random, () => deps.requireStartable(home, config)))
        ? await startUnlocked(options, deps)
        : await deps.startGateway(home, options.keyFile ?? null, config);
    sayStatus(deps.io, await readStatus(operatorDoor(options)));
    deps.io.out("Approve with: gw watch   Stop with: Ctrl-C");
    return awaitEnd(gateway);
  });
}

/** For as long as it runs; refused with what is to be said of an end that was not in order. */
export async function awaitEnd(gateway: GatewayProcess): Promise<Exit> {
  const ended = await gateway.stopped;
  if (ended !== null) throw ended;
  return exits.done;
}

/** The keys are opened first: a wrong passphrase after the start would leave a piece of log that nobody vouched for. */
export function startUnlocked(
  options: OperatorOptions & { readonly config?: string },
  deps: SessionDeps & Pick<CliDeps, "startGateway" | "serverCheck">,
): Promise<GatewayProcess> {
  return withOperator(options, deps.io, deps.vault, async (session) => {
    const gateway = await deps.startGateway(options.home, null, options.config);
    try {
      const { operator, wrongBefore: failedAttempts = 0 } = session;
      // Nobody was there to record them.
      if (failedAttempts > 0)
        await deps.vault.afterWrongPassphrase({ home: options.home, operator: operator.name, failedAttempts });
      const { trouble } = await readStatus(operatorDoor(options));
      // What an operator did not sign is not obeyed: it stays locked, records who tries, and the status says why.
      // Old files are refused where the person can read why, not by a gateway that stands there locked.
      if (trouble !== null && !isGoingBack(trouble.code)) return gateway;
      await logIn(session, options, deps, async ({ client, home, operator }) => {
        await client.unlock(await deps.serverCheck(home, operator.serviceKey, { child: gateway.pid, first: true }));
        return exits.done;
      });
      return gateway;
    } catch (error) {
      gateway.stop();
      await gateway.stopped;
      throw error;
    }
  });
}

export function runStatus(options: BaseOptions, { io }: CliDeps): Promise<Exit> {
  return answering(io, async () => {
    const status = await readStatus(operatorDoor(options));
    if (options.json) io.out(JSON.stringify(status, null, 2));
    else sayStatus(io, status);
    // A health check reads the exit alone: what sends nothing any more, or begins nothing new, is not well.
    if (status.stopped !== null || status.trouble !== null || status.disk_low === true) return exits.denied;
    return status.locked ? exits.locked : exits.done;
  });
}

/** `gw metrics`: the numbers as Prometheus reads them, for a scrape by way of a file or a small proxy. */
export function runMetrics(options: BaseOptions, { io }: CliDeps): Promise<Exit> {
  return answering(io, async () => {
    const connection = openConnection(operatorDoor(options));
    try {
      const text = (await connection.bytes("GET", "/v1/metrics")).body.toString("utf8").trimEnd();
      io.out(options.json ? JSON.stringify(samplesOf(text), null, 2) : text);
      return exits.done;
    } finally {
      connection.close();
    }
  });
}

/** The samples of our own text, by their names and labels as they stand there. */
function samplesOf(text: string): Readonly<Record<string, number>> {
  const samples = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return Object.fromEntries(
    samples.map((line) => {
      const at = line.lastIndexOf(" ");
      return [printable(line.slice(0, at)), Number(line.slice(at + 1))];
    }),
  );
}

export function runUnlock(options: OperatorOptions & { readonly first?: boolean }, deps: CliDeps): Promise<Exit> {
  const first = options.first === true;
  return change(
    options,
    deps,
    async (client, { home, operator }) =>
      client.unlock(await deps.serverCheck(home, operator.serviceKey, { child: null, first })),
    "Unlocked.",
  );
}

/** `gw resume`: after a full disk or a shortage that has passed. The gateway verifies its log before it records again. */
export function runResume(options: OperatorOptions, deps: CliDeps): Promise<Exit> {
  const told = "It records again. Every session has ended; agents ask anew.";
  const work = async (client: GatewaySession["client"], session: GatewaySession): Promise<Status> => {
    const status = await client.resume();
    // Now it can be vouched for: what was written before the stop is what stands there.
    await attestLog(options, deps, session, client);
    return status;
  };
  return change(options, deps, work, told, false);
}

export function runLock(options: OperatorOptions & { readonly reason: string }, deps: CliDeps): Promise<Exit> {
  const inSession = async ({ operator }: VaultSession): Promise<Exit> => {
    const orders = ordersOf(operatorDoor(options), operator, deps);
    const status = await orders.lock(options.reason).catch(async (error: unknown) => {
      if (error instanceof Denied && error.code === "end_unrecorded") await endLogin(operator.vaultId, deps.vault);
      throw error;
    });
    await endLogin(operator.vaultId, deps.vault);
    const told = "Locked: every session has ended and open questions were withdrawn.";
    deps.io.out(options.json ? JSON.stringify(status, null, 2) : told);
    return exits.done;
  };
  return answering(deps.io, async () => {
    await requireSomebody(options);
    // What takes power away works on an old home too.
    return await withOperator(options, deps.io, deps.vault, inSession, { goingBack: "told" });
  });
}

function change(
  options: OperatorOptions,
  deps: CliDeps,
  work: (client: GatewaySession["client"], session: GatewaySession) => Promise<Status>,
  told: string,
  attest = true,
): Promise<Exit> {
  return answering(deps.io, () =>
    withGateway({ ...options, attest }, deps, async (session) => {
      const status = await work(session.client, session);
      deps.io.out(options.json ? JSON.stringify(status, null, 2) : told);
      return exits.done;
    }),
  );
}

/** Below the words of a line, so that no path or message reads as the next one. */
const HANG = 12;

export function sayStatus(io: Pick<CliIo, "out" | "columns">, status: Status): void {
  for (const line of statusLines(status)) sayProse(io, line, HANG);
}

function statusLines(status: Status): readonly string[] {
  const text = (name: keyof Status): string => showIdentifier(String(status[name] ?? ""));
  const list = (name: "packs" | "lowered"): readonly string[] => (status[name] ?? []).map(showIdentifier);
  const { trouble, open_folder: open } = status;
  const mode =
    status.mode === "dedicated"
      ? "dedicated: it runs as its own user, and so do those who decide"
      : "guard-rail: it stops this user's mistakes, not this user's malware";
  const packs = list("packs");
  return [
    `gw ${text("version")}, process ${text("pid")}, home ${text("home")}`,
    `  ${status.locked ? "LOCKED    gw unlock (the first time since it started: gw unlock --first)" : "unlocked"}`,
    `  mode      ${mode}`,
    ...(isJsonObject(open)
      ? [
          `  OPEN      others can write to ${showIdentifier(String(open["path"]))}, and so to the home: ${showIdentifier(String(open["mend"]))}`,
        ]
      : []),
    `  policy    ${status.policy_version === null ? "none in force" : `version ${status.policy_version}`}, vault generation ${status.vault_generation}`,
    `  packs     ${packs.length > 0 ? packs.join(", ") : "none trusted (gw pack add FILE, gw pack trust NAME)"}`,
    ...(status.pack_troubles ?? []).map(
      ({ file, why }) => `  PACK      ${showIdentifier(file)} is not in force: ${printable(why)}`,
    ),
    `  waiting   ${counted(Number(text("approvals_pending")), "approval")}, ${counted(Number(text("sessions_live")), "live session")}`,
    `  callbacks ${callbacksLine(status.callbacks)}`,
    ...webhookLines(status.webhooks),
    ...hubLines(status.hub),
    ...(list("lowered").length === 0
      ? []
      : [`  LOWERED   ${list("lowered").map(settingName).join(", ")} (signed policy)`]),
    ...keyFileLines(status.key_file),
    ...waitingKeyLines(status.hub, status.mode),
    ...(status.stopped === null
      ? []
      : [
          `  STOPPED   it can no longer record and sends nothing: ${text("stopped")}${mayPass(status) ? " (gw resume, when that has passed)" : ""}`,
        ]),
    ...((status.answers_waiting ?? 0) > 0
      ? [
          `  MEMORY    ${counted(status.answers_waiting ?? 0, "large answer")} of providers wait until others have been read by whoever asked`,
        ]
      : []),
    ...(status.disk_low === true ? ["  DISK LOW  nothing new is begun until there is room again"] : []),
    ...(status.files_refused === null ? [] : [filesLine(status.files_refused)]),
    ...(trouble === null ? [] : [`  TROUBLE   ${showIdentifier(trouble.code)}: ${showIdentifier(trouble.message)}`]),
  ];
}

/** What it goes on with was signed, and may be older than what the operator signed last. */
function filesLine(code: string): string {
  const known = Object.hasOwn(codes, code) ? codes[code as Code] : null;
  const says = known === null ? "" : ` ${known.means} ${known.mend}`;
  return `  FILES     the files in the home were not taken, what was in force before goes on: ${showIdentifier(code)}.${says}`;
}

/** As gw policy show and set spell it. */
function settingName(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function keyFileLines(file: JsonObject[string] | undefined): readonly string[] {
  if (!isJsonObject(file)) return [];
  const kind = showIdentifier(String(file["kind"]));
  const { trouble } = file;
  return [
    `  LOWERED   a ${kind} opens the credentials without a person, ${file["signed"] === true ? "as signed policy allows" : "and nobody signed that: it is not used (gw policy set headless_unlock on)"}`,
    ...(isJsonObject(trouble)
      ? [`  TROUBLE   ${showIdentifier(String(trouble["code"]))}: ${showIdentifier(String(trouble["message"]))}`]
      : []),
  ];
}

function callbacksLine(callbacks: JsonObject[string] | undefined): string {
  if (!isJsonObject(callbacks)) return "off";
  const { listening, configured, why } = callbacks;
  if (typeof listening === "string") return `listening on ${showIdentifier(listening)}, POST /callbacks/PACK`;
  return configured === null ? "off" : `OFF: ${showIdentifier(String(why ?? ""))}`;
}

/** One line for each: whoever relies on being told has to see that nobody is. */
function webhookLines(hooks: JsonObject[string] | undefined): readonly string[] {
  return (Array.isArray(hooks) ? hooks : []).filter(isJsonObject).map(({ name, last }) => {
    const hook = showIdentifier(String(name));
    if (!isJsonObject(last)) return `  webhook   ${hook}: nothing was sent to it since the gateway started`;
    const [at, result, detail] = ["at", "result", "detail"].map((member) => showIdentifier(String(last[member])));
    if (result === "delivered") return `  webhook   ${hook}: told at ${at}`;
    return `  WEBHOOK   ${hook} was not told at ${at}: ${result}, ${detail} (look at its address: gw webhook list)`;
  });
}
