import type { GrantCaller } from "../../../conventions/grant/grant.ts";
import { grantRecord } from "../../../conventions/grant/record.ts";
import { connectHub, type HubLogin } from "../../../hub/connect.ts";
import { showIdentifier } from "../../../kernel/display.ts";
import { Unreachable } from "../../client/connection.ts";
import { answering } from "../answer.ts";
import type { CliDeps } from "../commands/deps.ts";
import { readGrantCaller } from "../grant/caller.ts";
import type { GrantWords } from "../grant/draft.ts";
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
  return answering(deps.io, async () => {
    const caller = await readGrantCaller(options.caller, options.home);
    return await changing(options, deps, (place) => addOnHub({ ...options, name }, caller, place, deps));
  });
}

async function addOnHub(words: GrantWords, caller: GrantCaller, place: PolicyOnHub, deps: CliDeps): Promise<Changed> {
  const grant = await signGrant(words, caller, place, deps.vault);
  for (const line of warnings(grant)) deps.io.err(line);
  const { uid } = grant.caller;
  if (uid !== null)
    deps.io.err(`A number means a user of each host: see that ${uid} is an agent's own on all of them.`);
  return { record: grantRecord(grant), say: () => saySigned(grant, deps.io) };
}

/** `gw grant remove NAME --hub URL`. */
export function runHubGrantRemove(name: string, options: HubGrantOptions, deps: CliDeps): Promise<Exit> {
  return changing(options, deps, async ({ sign }) => {
    await removeGrant(name, sign);
    const line = (where: string, there: string): string =>
      `${name} is removed${where}. Sessions${there} that stand on it send nothing more.`;
    const say = (whole: boolean): void => deps.io.out(whole ? line("", "") : line(" where it was taken", " there"));
    return { record: { grant: name, removed: true }, say };
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

/** One that was written beside a card of a live screen; `behind` names who has not taken it. */
export async function signLineOnHub(
  line: string,
  login: HubLogin,
  session: VaultSession,
  options: OperatorOptions,
  deps: CliDeps,
): Promise<{ readonly name: string; readonly behind: readonly string[] }> {
  const connection = await connectHub(login, null);
  let behind: readonly string[] = [];
  const tell = (answered: readonly Answered[]): void => {
    behind = answered.filter(({ answer }) => answer?.code !== null).map(({ gateway }) => gateway);
  };
  try {
    const speakers = await findSpeakers(connection, session);
    const place = await readPolicyOnHub({ ...session, connection, speakers }, deps, { tell });
    const { name } = await signGrantLine(line, place, options, deps.vault);
    return { name, behind };
  } finally {
    await connection.close();
  }
}

interface Changed {
  readonly record: object;
  /** `whole` where every gateway has taken it. */
  say(whole: boolean): void;
}

function changing(
  options: HubGrantOptions,
  deps: CliDeps,
  work: (place: PolicyOnHub) => Promise<Changed>,
): Promise<Exit> {
  return onHub(options, deps, async (session: HubSession) => {
    let answered: readonly Answered[] = [];
    let heard: ReadonlySet<string> = new Set();
    const tell = (all: readonly Answered[], living: ReadonlySet<string>): void => {
      [answered, heard] = [all, living];
    };
    let changed: Changed;
    try {
      changed = await work(await readPolicyOnHub(session, deps, { ...options, tell }));
    } catch (error) {
      // Signed and not refused by anybody: it may be in force in a moment.
      if (!(error instanceof Unreachable)) throw error;
      deps.io.err(error.message);
      return exits.pending;
    }
    const states = answered.map(({ gateway, answer }) => ({
      gateway,
      state: answer === null ? "no_answer" : answer.code === null ? "taken" : "refused",
      code: answer?.code ?? null,
    }));
    const open = states.filter(({ state }) => state !== "taken");
    if (options.json) deps.io.out(JSON.stringify({ ...changed.record, gateways: states }));
    else changed.say(open.length === 0);
    warnOpen(answered, deps);
    return open.some(({ gateway }) => heard.has(gateway)) ? exits.pending : exits.done;
  });
}

/** Who has not taken what the others took, and what comes of that. */
export function warnOpen(answered: readonly Answered[], { io }: Pick<CliDeps, "io">): void {
  for (const { gateway, answer } of answered)
    if (answer?.code !== null) io.err(`WARNING: ${showIdentifier(gateway)} ${whyNot(answer?.code ?? null)}`);
}

/** Whoever is behind comes after; whoever has another one does not, and then somebody who took it may have lied. */
function whyNot(code: string | null): string {
  const follows = "It follows as soon as it sees what the others took: gw status --hub URL";
  if (code === null) return `has not answered. ${follows}`;
  const why = `refused it: ${showIdentifier(code)}.`;
  if (code === "gateway_behind") return `${why} ${follows}`;
  return `${why} Two signed at one moment, or whoever took it lies. One of the two goes on: see gw grant list --hub URL, and say it once more if it is not this one`;
}
