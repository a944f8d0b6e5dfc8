import { isEnrolledBy } from "../conventions/passkey/passkey.ts";
import { defaults } from "../kernel/defaults.ts";
import { Denied } from "../kernel/failure.ts";
import type { JsonObject } from "../kernel/json.ts";
import { signersOf } from "../surfaces/cli/audit/commands.ts";
import type { CliDeps } from "../surfaces/cli/commands/deps.ts";
import { readWhere } from "../surfaces/cli/operator/where.ts";
import type { OperatorOptions } from "../surfaces/cli/options.ts";
import type { VaultSession } from "../surfaces/cli/vault/session.ts";
import { checkSecret } from "../surfaces/cli/watch/check-secret.ts";
import type { Api } from "./api.ts";
import { createDecisions, requireShown } from "./decisions.ts";
import { textOf, textOrNull } from "./http.ts";
import type { Live } from "./live.ts";
import { createOwnSecret } from "./own-secret.ts";
import type { Reading } from "./reading/thread.ts";
import { readWanted } from "./reading/wanted.ts";
import type { ServedAt } from "./serve.ts";
import type { Turn } from "./turn.ts";

export interface SharedParts {
  readonly place: Pick<ServedAt, "origin" | "tls">;
  readonly session: VaultSession;
  readonly options: OperatorOptions;
  readonly deps: CliDeps;
  readonly turn: Turn;
  readonly live: Live;
  readonly reading: Reading;
}

/** What a page asks alike of one gateway and of a hub. */
export function createShared(parts: SharedParts): Omit<Api, "home" | "fleet" | "grant"> {
  const { session, options, deps, turn, live, reading } = parts;
  const { origin, tls } = parts.place;
  const { operator, home } = session;
  const { clock, random, sleep } = deps;
  const remote = tls !== null;
  const ownHere = () => {
    const signers = signersOf(home);
    return home
      .readPolicy(home.readVault())
      .passkeys.filter(
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
  return {
    ...{ remote, turn, live, secret, ownHere, sleep: sleep.sleep },
    decisions: createDecisions({
      ...{ clock, random, client: live.client, passkeys: ownHere, secret, passkeysOnly: remote },
      readWhere: (said, card) => readWhere(said, options.home, home, card),
    }),
    me: () => ({
      ...{ operator: operator.name, origin, remote, version: deps.version, hub: false, hub_url: "" },
      steady_ms: defaults.cardSteadyMs,
      passkeys: ownHere().length,
    }),
    async extend(approvalId: string, body: JsonObject) {
      const approval = await live.client().approval(approvalId, textOrNull(body, "gateway"));
      requireShown(approval, body);
      return live.client().extend(approval, defaults.watchExtendSeconds);
    },
    async settle(operationId: string, body: JsonObject) {
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
    call: (id, gateway) => turn.seen(() => reading.ask("call", { id, gateway, signers: signersOf(home) })),
    recording: (attemptId) => turn.seen(() => reading.ask("recording", attemptId)),
  };
}
