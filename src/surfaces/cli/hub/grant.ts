import { grantRecord } from "../../../conventions/grant/record.ts";
import { connectHub, type HubLogin } from "../../../hub/connect.ts";
import { showIdentifier } from "../../../kernel/display.ts";
import type { CliDeps } from "../commands/deps.ts";
import { readGrantCaller } from "../grant/caller.ts";
import {
  type GrantAddOptions,
  removeGrant,
  requireGrant,
  sayGrants,
  saySigned,
  showGrant,
  signGrant,
  signGrantLine,
  warnings,
} from "../grant/grant.ts";
import { type Exit, exits } from "../io.ts";
import type { OperatorOptions } from "../options.ts";
import type { VaultSession } from "../vault/session.ts";
import { findSpeakers, type HubSession, type OnHub, onHub } from "./hub-session.ts";
import { type PolicyOnHub, readPolicyOnHub } from "./policy.ts";
import type { Answered } from "./say.ts";

export type HubGrantOptions = OperatorOptions & OnHub & { readonly despite?: readonly string[] };

/** `gw grant add NAME --hub URL`: signed where no gateway runs, for all gateways of the vault. */
export function runHubGrantAdd(name: string, options: GrantAddOptions & HubGrantOptions, deps: CliDeps): Promise<Exit> {
  return changing(options, deps, async (place) => {
    const caller = await readGrantCaller(options.caller, options.home);
    const grant = await signGrant({ ...options, name }, caller, place, deps.vault);
    for (const line of warnings(grant)) deps.io.err(line);
    const { uid } = grant.caller;
    if (uid !== null)
      deps.io.err(`A number means a user of each host: see that ${uid} is an agent's own on all of them.`);
    return { record: grantRecord(grant), say: () => saySigned(grant, deps.io) };
  });
}

/** `gw grant remove NAME --hub URL`. */
export function runHubGrantRemove(name: string, options: HubGrantOptions, deps: CliDeps): Promise<Exit> {
  return changing(options, deps, async ({ sign }) => {
    await removeGrant(name, sign);
    const line = `${name} is removed. Sessions that stand on it send nothing more.`;
    return { record: { grant: name, removed: true }, say: () => deps.io.out(line) };
  });
}

/** `gw grant list --hub URL`: those of the newest policy that a gateway of the vault put there. */
export function runHubGrantList(options: HubGrantOptions, deps: CliDeps): Promise<Exit> {
  return onHub(options, deps, async (session) => {
    const { policy } = await readPolicyOnHub(session, deps, options);
    sayGrants(policy.grants, null, options, deps.io, deps.vault.clock);
    return exits.done;
  });
}

export function runHubGrantShow(name: string, options: HubGrantOptions, deps: CliDeps): Promise<Exit> {
  return onHub(options, deps, async (session) => {
    const { policy } = await readPolicyOnHub(session, deps, options);
    showGrant(requireGrant(policy.grants, name), options, deps.io);
    return exits.done;
  });
}

/** One that was written beside a card of a live screen. */
export async function signLineOnHub(
  line: string,
  login: HubLogin,
  session: VaultSession,
  options: OperatorOptions,
  deps: CliDeps,
): Promise<string> {
  const connection = await connectHub(login, null);
  try {
    const speakers = await findSpeakers(connection, session);
    const place = await readPolicyOnHub({ ...session, connection, speakers }, deps);
    return (await signGrantLine(line, place, options, deps.vault)).name;
  } finally {
    await connection.close();
  }
}

interface Changed {
  readonly record: object;
  say(): void;
}

function changing(
  options: HubGrantOptions,
  deps: CliDeps,
  work: (place: PolicyOnHub) => Promise<Changed>,
): Promise<Exit> {
  return onHub(options, deps, async (session: HubSession) => {
    let answered: readonly Answered[] = [];
    const tell = (all: readonly Answered[]): void => {
      answered = all;
    };
    const { record, say } = await work(await readPolicyOnHub(session, deps, { ...options, tell }));
    const states = answered.map(({ gateway, answer }) => ({
      gateway,
      state: answer === null ? "no_answer" : answer.code === null ? "taken" : "refused",
      code: answer?.code ?? null,
    }));
    if (options.json) deps.io.out(JSON.stringify({ ...record, gateways: states }));
    else say();
    for (const { gateway, state, code } of states) {
      if (state === "taken") continue;
      const why = code === null ? "has not answered" : `refused it: ${showIdentifier(code)}`;
      deps.io.err(
        `WARNING: ${showIdentifier(gateway)} ${why}. It follows as soon as it sees what the others took: gw status --hub URL`,
      );
    }
    return exits.done;
  });
}
