import { join } from "node:path";
import { isEnrolledBy } from "../conventions/passkey/passkey.ts";
import { defaults } from "../kernel/defaults.ts";
import { Denied } from "../kernel/failure.ts";
import { signersOf } from "../surfaces/cli/audit/commands.ts";
import type { CliDeps } from "../surfaces/cli/commands/deps.ts";
import { signGrantLine } from "../surfaces/cli/grant/grant.ts";
import type { GatewaySession } from "../surfaces/cli/operator/session.ts";
import { readWhere } from "../surfaces/cli/operator/where.ts";
import { type OperatorOptions, operatorDoor } from "../surfaces/cli/options.ts";
import { signerIn } from "../surfaces/cli/vault/sign-change.ts";
import { checkSecret } from "../surfaces/cli/watch/check-secret.ts";
import { connectOperator } from "../surfaces/client/operator.ts";
import type { Api } from "./api.ts";
import { createCredentials } from "./credentials.ts";
import { createDecisions } from "./decisions.ts";
import { textOf, textOrNull } from "./http.ts";
import { followGateway } from "./live.ts";
import { createLogRoom } from "./log.ts";
import { createOwnSecret } from "./own-secret.ts";
import { createPacks } from "./packs.ts";
import { createEnrolment } from "./passkeys.ts";
import { createPolicyRoom } from "./policy.ts";
import { startReading } from "./reading/thread.ts";
import { readWanted } from "./reading/wanted.ts";
import type { ServedAt } from "./serve.ts";
import { createTurn } from "./turn.ts";

/** Everything that the page can ask, put together around one operator who is unlocked. */
export function createApi(
  { origin, tls }: Pick<ServedAt, "origin" | "tls">,
  session: GatewaySession,
  options: OperatorOptions,
  deps: CliDeps,
  refresh: () => Promise<void>,
  signal: AbortSignal,
): Api {
  const { operator, home } = session;
  const { clock, random, sleep } = deps;
  const log = join(options.home, "audit");
  const remote = tls !== null;
  const turn = createTurn(refresh);
  const sign = signerIn(session, deps.vault);
  const connect = () => connectOperator(operatorDoor(options), operator, clock);
  const live = followGateway(session.client, { clock, sleep, connect }, signal);
  const reading = startReading(log, operator.readingKey);
  signal.addEventListener("abort", () => reading.close());
  const listed = () => home.readPolicy(home.readVault()).passkeys;
  const ownHere = () => {
    const signers = signersOf(home);
    return listed().filter(
      (one) =>
        one.origin === origin &&
        one.operatorKeyId === operator.keyId &&
        isEnrolledBy(one, signers.vaultId, signers.keys),
    );
  };
  const secret = createOwnSecret({
    guardRail: live.guardRail,
    hasPin: operator.pin !== null,
    check: (which, typed) => checkSecret(which, typed, { operator, home }, deps.vault),
  });
  const around = { session, options, deps, client: live.client };
  return {
    ...{ remote, turn, live, secret, ownHere, sleep: sleep.sleep },
    decisions: createDecisions({
      ...{ clock, random, client: live.client, passkeys: ownHere, secret, passkeysOnly: remote },
      readWhere: (said) => readWhere(said, options.home, home),
    }),
    enrolment: createEnrolment({
      ...{ clock, random, operator, origin, remote, passkeys: listed, sign },
      onEnrolled: ({ name, enrolledAt }) => deps.io.out(`The passkey ${name} was enrolled at ${enrolledAt}.`),
    }),
    packs: createPacks(around),
    credentials: createCredentials(around),
    policy: createPolicyRoom({ home, clock, sign, lastUses: () => reading.ask("uses", null) }),
    log: createLogRoom(log, session, deps.vault),
    me: () => ({
      ...{ operator: operator.name, origin, remote, version: deps.version },
      steady_ms: defaults.cardSteadyMs,
      passkeys: ownHere().length,
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
    activity: (query) => turn.seen(() => reading.ask("activity", readWanted(query))),
    charts: () => turn.seen(() => reading.ask("charts", null)),
    call: (id) => turn.seen(() => reading.ask("call", { id, signers: signersOf(home) })),
    recording: (attemptId) => turn.seen(() => reading.ask("recording", attemptId)),
  };
}
