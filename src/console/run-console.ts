import { join } from "node:path";
import { isEnrolledBy } from "../conventions/passkey/passkey.ts";
import { defaults } from "../kernel/defaults.ts";
import { Denied } from "../kernel/failure.ts";
import type { JsonObject } from "../kernel/json.ts";
import { answering } from "../surfaces/cli/answer.ts";
import { signersOf } from "../surfaces/cli/audit/commands.ts";
import { openTrace } from "../surfaces/cli/audit/show.ts";
import { traceLines } from "../surfaces/cli/audit/trace-lines.ts";
import type { CliDeps } from "../surfaces/cli/commands/deps.ts";
import { signGrantLine } from "../surfaces/cli/grant/grant.ts";
import { type Exit, exits } from "../surfaces/cli/io.ts";
import { type GatewaySession, withGateway } from "../surfaces/cli/operator/session.ts";
import { type OperatorOptions, operatorDoor } from "../surfaces/cli/options.ts";
import { signerIn } from "../surfaces/cli/vault/sign-change.ts";
import { checkSecret } from "../surfaces/cli/watch/check-secret.ts";
import { connectOperator } from "../surfaces/client/operator.ts";
import type { Api } from "./api.ts";
import { createCredentials } from "./credentials.ts";
import { createDecisions } from "./decisions.ts";
import { createGuard } from "./guard.ts";
import { textOf, textOrNull } from "./http.ts";
import { createJournal, readWanted } from "./journal.ts";
import { followGateway } from "./live.ts";
import { createLogRoom } from "./log.ts";
import { createOwnSecret } from "./own-secret.ts";
import { createPacks } from "./packs.ts";
import { readPage } from "./page-files.ts";
import { createEnrolment } from "./passkeys.ts";
import { createPolicyRoom } from "./policy.ts";
import { serveConsole } from "./serve.ts";

export interface ConsoleOptions extends OperatorOptions {
  readonly port: number;
}

/** What the console needs beside what every command has. */
export interface ConsolePorts {
  /** Resolves when the person is done with it. */
  readonly stopped: Promise<void>;
  /** Brings an operator's copy of the home up to date; nothing where the home itself is at hand. */
  refresh(): Promise<void>;
}

const NAME = "gw.localhost";

/** `gw console`: the operator's own program, which holds their keys and serves one page to their browser on this machine. */
export function runConsole(options: ConsoleOptions, deps: CliDeps, ports: ConsolePorts): Promise<Exit> {
  return answering(deps.io, () =>
    withGateway(options, deps, async (session) => {
      const stop = new AbortController();
      const origin = `http://${NAME}:${options.port}`;
      const guard = createGuard(deps.clock, deps.random);
      const api = createApi(origin, session, options, deps, ports, stop.signal);
      const link = (): string => `${origin}/#${guard.newToken()}`;
      const onEntered = (): void => deps.io.out(`A page was opened. For another one: ${link()}`);
      try {
        const served = await serveConsole(options.port, origin, await readPage(), guard, api, onEntered);
        deps.io.out(
          `Open this in a browser on this machine, once, within ${defaults.consoleTokenMs / 60_000} minutes:`,
        );
        deps.io.out(`  ${link()}`);
        deps.io.out("Ctrl-C ends the console; what waits goes on waiting.");
        await ports.stopped;
        served.close();
      } finally {
        stop.abort();
      }
      return exits.done;
    }),
  );
}

function createApi(
  origin: string,
  session: GatewaySession,
  options: ConsoleOptions,
  deps: CliDeps,
  { refresh }: ConsolePorts,
  signal: AbortSignal,
): Api {
  const { operator, home } = session;
  const { clock, random, sleep } = deps;
  const log = join(options.home, "audit");
  const sign = signerIn(session, deps.vault);
  const connect = () => connectOperator(operatorDoor(options), operator, clock);
  const live = followGateway(session.client, { clock, sleep, connect }, signal);
  const journal = createJournal(log, operator.readingKey);
  signal.addEventListener("abort", () => journal.close());
  const listed = () => home.readPolicy(home.readVault()).passkeys;
  const own = () => {
    const signers = signersOf(home);
    return listed().filter(
      (one) => one.operatorKeyId === operator.keyId && isEnrolledBy(one, signers.vaultId, signers.keys),
    );
  };
  const secret = createOwnSecret({
    guardRail: live.guardRail,
    hasPin: operator.pin !== null,
    check: (which, typed) => checkSecret(which, typed, { operator, home }, deps.vault),
  });
  return {
    live,
    secret,
    decisions: createDecisions({
      ...{ clock, random, origin, client: live.client, passkeys: own, secret },
    }),
    enrolment: createEnrolment({
      ...{ clock, random, operator, origin, passkeys: listed },
      sign,
    }),
    packs: createPacks({ session, options, deps, client: live.client }),
    credentials: createCredentials({ session, options, deps, client: live.client }),
    policy: createPolicyRoom({ home, log, readingKey: operator.readingKey, sign }),
    log: createLogRoom(log, home, operator, refresh),
    me: () => ({
      operator: operator.name,
      origin,
      version: deps.version,
      home: options.home,
      steady_ms: defaults.cardSteadyMs,
      has_pin: operator.pin !== null,
      passkeys: own().filter((one) => one.origin === origin).length,
    }),
    passkeys() {
      const { vaultId, keys } = signersOf(home);
      return listed().map((one) => ({
        ...one,
        counts: isEnrolledBy(one, vaultId, keys),
        here: one.origin === origin,
      }));
    },
    grant: async (line) => ({ name: (await signGrantLine(line, session, options, deps.vault)).name }),
    async settle(operationId, body) {
      const operation = await live.client().operation(operationId);
      if (typeof body["happened"] !== "boolean") throw new Denied("value_not_allowed", "It happened, or it did not.");
      const said = {
        happened: body["happened"],
        reason: textOf(body, "reason"),
        although: textOrNull(body, "although"),
      };
      return live.client().settleOperation(operation, said, () => undefined);
    },
    async activity(query) {
      await refresh();
      return journal.list(readWanted(query));
    },
    async call(id) {
      await refresh();
      const record = openTrace(id, log, { readingKey: operator.readingKey, signers: signersOf(home) });
      return { record: record as unknown as JsonObject, lines: traceLines(record) };
    },
  };
}
