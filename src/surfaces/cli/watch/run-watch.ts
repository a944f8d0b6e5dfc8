import type { OperationBoard, OperationSummary } from "../../../conventions/operation/summary.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { Denied } from "../../../kernel/failure.ts";
import { connectOperator } from "../../client/operator.ts";
import { answering } from "../answer.ts";
import type { CliDeps } from "../commands/deps.ts";
import { placeIn, signGrantLine } from "../grant/grant.ts";
import { signLineOnHub } from "../hub/grant.ts";
import { type OnHub, requireHub } from "../hub/hub-session.ts";
import { takeOperatorLogin } from "../hub/login.ts";
import { connectHubClient } from "../hub/watch-client.ts";
import { type Exit, exits } from "../io.ts";
import { withGateway } from "../operator/session.ts";
import { readWhere } from "../operator/where.ts";
import { type OperatorOptions, operatorDoor } from "../options.ts";
import { type VaultSession, withOperator } from "../vault/session.ts";
import { checkSecret } from "./check-secret.ts";
import { type FeedPorts, startFeed, type WatchClient } from "./feed.ts";
import { createNotifier, NOTIFY_SEND } from "./notify.ts";
import { startSitting } from "./sitting.ts";
import { openWatchTerminal, type WatchTerminal } from "./terminal-screen.ts";

/** Whose questions are watched, and how the connection is made again. */
interface Watched extends Pick<VaultSession, "home" | "operator"> {
  readonly client: WatchClient;
  connect(): Promise<WatchClient>;
  addGrant(line: string): Promise<readonly string[]>;
  readonly answerMs: number;
}

/** `gw watch`: the operator's live terminal, or with --json the news as lines for programs. */
export function runWatch(options: OperatorOptions, deps: CliDeps, terminal?: WatchTerminal): Promise<Exit> {
  return answering(deps.io, async () => {
    requireTerminal(options, deps);
    return await withGateway(options, deps, (session) => {
      const { operator, client } = session;
      const connect = () => connectOperator(operatorDoor(options), operator, deps.clock);
      const addGrant = async (line: string) => {
        await signGrantLine(line, placeIn(session, deps.vault), options, deps.vault);
        return [];
      };
      const answerMs = defaults.watchAnswerMs;
      return watch({ ...session, client, connect, addGrant, answerMs }, options, deps, terminal);
    });
  });
}

/** `gw watch --hub URL`: the same screen for all gateways of the vault. */
export function runHubWatch(options: OperatorOptions & OnHub, deps: CliDeps): Promise<Exit> {
  return answering(deps.io, async () => {
    requireTerminal(options, deps);
    const login = await takeOperatorLogin(options, deps);
    using _wiped = login.password;
    await requireHub(login);
    return await withOperator(options, deps.io, deps.vault, async (session) => {
      const connect = () => connectHubClient(login, session, deps);
      const addGrant = async (line: string) => (await signLineOnHub(line, login, session, options, deps)).behind;
      // Beside what a gateway is given, what it takes to read the hub and to put the word there.
      const answerMs = defaults.hubAnswerMs + defaults.watchAnswerMs;
      return await watch({ ...session, client: await connect(), connect, addGrant, answerMs }, options, deps);
    });
  });
}

function requireTerminal(options: OperatorOptions, { io }: CliDeps): void {
  if (options.json || (io.isTty && process.stdin.isTTY === true)) return;
  throw new Denied(
    "terminal_needed",
    "gw watch draws on a terminal, and this is none. Run it in a terminal, or use: gw watch --json --passphrase-file FILE",
  );
}

async function watch(
  { operator, home, client, connect, addGrant, answerMs }: Watched,
  options: OperatorOptions,
  deps: CliDeps,
  terminal?: WatchTerminal,
): Promise<Exit> {
  const ports = { clock: deps.clock, sleep: deps.sleep, connect };
  if (options.json) return await printNews(ports, client, deps);
  const sitting = startSitting({
    ...ports,
    terminal: terminal ?? openWatchTerminal(),
    color: deps.io.color,
    operator: operator.name,
    hasPin: operator.pin !== null,
    client,
    notify: createNotifier(NOTIFY_SEND, process.env),
    ...{ addGrant, answerMs },
    readWhere: (said, card) => readWhere(said, options.home, home, card),
    check: (which, secret) => checkSecret(which, secret, { operator, home }, deps.vault),
  });
  const { waiting, underWay } = await sitting.ended;
  if (underWay !== null) {
    deps.io.err(`The answer for ${underWay} was still under way: look with gw approvals whether it took effect.`);
  }
  if (waiting > 0) deps.io.err(`${waiting} still open; without an answer they expire and nothing is sent.`);
  return exits.done;
}

/** Every change of a question or an operation as one JSON record a line; open ones come again after a reconnection. */
async function printNews(
  ports: Omit<FeedPorts, "tell">,
  client: Parameters<typeof startFeed>[0],
  { io }: CliDeps,
): Promise<Exit> {
  const stop = new AbortController();
  const end = (): void => stop.abort();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, end);
  process.stdout.on("error", end);
  let lost = false;
  let unread: readonly string[] = [];
  const operations = createChanges();
  const feed = startFeed(
    client,
    {
      ...ports,
      tell(event) {
        if (event.kind === "approval") io.out(asciiJson(event.view));
        if (event.kind === "operations") for (const one of operations.news(event.board)) io.out(asciiJson(one));
        if (event.kind === "lost" && !lost) io.err(`connection lost: ${event.why} Trying again.`);
        if (event.kind === "live" && lost) io.err("connected again");
        if (event.kind === "live") {
          for (const line of (event.unread ?? []).filter((one) => !unread.includes(one))) io.err(`warning: ${line}`);
          unread = event.unread ?? [];
        }
        lost = event.kind === "lost" || (lost && event.kind !== "live");
      },
    },
    stop.signal,
  );
  await feed.done;
  return exits.done;
}

/** Of each board what a program has not been told: times run by themselves and are no news. */
export function createChanges(): { news(board: OperationBoard): readonly OperationSummary[] } {
  let told: ReadonlyMap<string, string> = new Map();
  const said = ({ next_poll_in_ms: _next, result_in_ms: _due, ...rest }: OperationSummary): string =>
    JSON.stringify(rest);
  return {
    news({ shown, ended }) {
      const all = [...shown, ...ended];
      const fresh = all.filter((one) => told.get(one.operation_id) !== said(one));
      told = new Map(all.map((one) => [one.operation_id, said(one)]));
      return fresh;
    },
  };
}

/** JSON in ASCII: the same records to a program, and nothing that acts when a terminal shows them. */
export function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
