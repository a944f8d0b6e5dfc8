import { join } from "node:path";
import { isEnrolledBy } from "../conventions/passkey/passkey.ts";
import { signersOf } from "../surfaces/cli/audit/commands.ts";
import type { CliDeps } from "../surfaces/cli/commands/deps.ts";
import { placeIn, signGrantLine } from "../surfaces/cli/grant/grant.ts";
import { createFleet } from "../surfaces/cli/hub/fleet.ts";
import { signLineOnHub } from "../surfaces/cli/hub/grant.ts";
import type { HubLogsSeen } from "../surfaces/cli/hub/logs.ts";
import { connectHubClient } from "../surfaces/cli/hub/watch-client.ts";
import type { GatewaySession } from "../surfaces/cli/operator/session.ts";
import { type OperatorOptions, operatorDoor } from "../surfaces/cli/options.ts";
import type { VaultSession } from "../surfaces/cli/vault/session.ts";
import { signerIn } from "../surfaces/cli/vault/sign-change.ts";
import { connectOperator } from "../surfaces/client/operator.ts";
import type { Api } from "./api.ts";
import { createShared } from "./create-shared.ts";
import { createCredentials } from "./credentials.ts";
import { followGateway } from "./live.ts";
import { createLogRoom } from "./log.ts";
import { createPacks } from "./packs.ts";
import { createEnrolment } from "./passkeys.ts";
import { createPolicyRoom } from "./policy.ts";
import { startReading } from "./reading/thread.ts";
import type { ServedAt } from "./serve.ts";
import { createTurn } from "./turn.ts";

type At = Pick<ServedAt, "origin" | "tls">;

/** Everything that the page can ask, put together around one operator who is unlocked. */
export function createApi(
  place: At,
  session: GatewaySession,
  options: OperatorOptions,
  deps: CliDeps,
  refresh: () => Promise<void>,
  signal: AbortSignal,
): Api {
  const { origin } = place;
  const { operator, home } = session;
  const { clock, random, sleep } = deps;
  const folder = join(options.home, "audit");
  const turn = createTurn(refresh);
  const sign = signerIn(session, deps.vault);
  const connect = () => connectOperator(operatorDoor(options), operator, clock);
  const live = followGateway(session.client, { clock, sleep, connect }, signal);
  const reading = startReading(async () => [{ gateway: null, folder }], operator.readingKey);
  signal.addEventListener("abort", () => reading.close());
  const listed = () => home.readPolicy(home.readVault()).passkeys;
  const around = { session, options, deps, client: live.client };
  return {
    ...createShared({ place, session, options, deps, turn, live, reading }),
    fleet: null,
    home: {
      enrolment: createEnrolment({
        ...{ clock, random, operator, origin, remote: place.tls !== null, passkeys: listed, sign },
        onEnrolled: ({ name, enrolledAt }) => deps.io.out(`The passkey ${name} was enrolled at ${enrolledAt}.`),
      }),
      packs: createPacks(around),
      credentials: createCredentials(around),
      policy: createPolicyRoom({ home, clock, sign, lastUses: () => reading.ask("uses", null) }),
      log: createLogRoom(folder, session, deps.vault),
      passkeys() {
        const { vaultId, keys } = signersOf(home);
        return listed().map((one) => ({
          ...one,
          counts: isEnrolledBy(one, vaultId, keys),
          here: one.origin === origin,
        }));
      },
    },
    async grant(line) {
      const { name } = await signGrantLine(line, placeIn(session, deps.vault), options, deps.vault);
      return { name, behind: [] };
    },
  };
}

/** The same for all gateways of the vault on a hub, as far as a hub can do it. */
export async function createHubApi(
  place: At,
  session: VaultSession,
  login: Parameters<typeof connectHubClient>[0],
  options: OperatorOptions,
  deps: CliDeps,
  signal: AbortSignal,
): Promise<Api> {
  const { clock, sleep } = deps;
  const connect = () => connectHubClient(login, session, deps);
  const live = followGateway(await connect(), { clock, sleep, connect }, signal);
  const fleet = createFleet(login, session.home, { clock, sleep, stateFolder: deps.vault.stateFolder });
  let wrong: HubLogsSeen["wrong"] = [];
  const find = async () => {
    const seen = await fleet.logs.look();
    wrong = seen.wrong;
    return seen.logs;
  };
  const reading = startReading(find, session.operator.readingKey);
  signal.addEventListener("abort", () => {
    reading.close();
    fleet.logs.close();
  });
  const shared = createShared({
    place,
    session,
    options,
    deps,
    turn: createTurn(async () => undefined),
    live,
    reading,
  });
  return {
    ...shared,
    home: null,
    fleet,
    me: () => ({ ...shared.me(), hub: true, hub_url: login.address.url }),
    grant: (line) => signLineOnHub(line, login, session, options, deps),
    activity: async (query) => ({ ...((await shared.activity(query)) as object), wrong }),
    decisions: {
      ...shared.decisions,
      async give(body) {
        const given = await shared.decisions.give(body);
        live.note(given);
        return given;
      },
    },
  };
}
