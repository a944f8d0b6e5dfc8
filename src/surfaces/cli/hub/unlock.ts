import { signAttestation } from "../../../audit/attestation.ts";
import { signHub, type UnlockStatement } from "../../../hub/statement.ts";
import { sealUnlock, unlockBody } from "../../../hub/unlock.ts";
import { isoTime } from "../../../kernel/clock.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { showIdentifier } from "../../../kernel/display.ts";
import { Denied } from "../../../kernel/failure.ts";
import type { CliDeps } from "../commands/deps.ts";
import { type Exit, exits } from "../io.ts";
import type { OperatorOptions } from "../options.ts";
import { policyInForce } from "../vault/session.ts";
import { type HubSession, knownTo, type OnHub, onHub } from "./hub-session.ts";
import { recallFleet } from "./memory.ts";
import { refusalIn, type Said, sayEach } from "./say.ts";
import { findWaiting, type WaitingGateway } from "./waiting.ts";

export type HubUnlockOptions = OperatorOptions &
  OnHub & {
    readonly all?: boolean;
    /** Gateways whose word on what they follow is not believed. */
    readonly despite?: readonly string[];
  };

/** What became of one of them. */
interface Outcome {
  readonly gateway: string;
  readonly state: "unlocked" | "refused" | "no_answer";
  readonly refusal: Denied | null;
}

/** `gw unlock NAME… --hub URL`: the service key, sealed to each process that waits and signed by the operator who hands it over. */
export function runHubUnlock(names: readonly string[], options: HubUnlockOptions, deps: CliDeps): Promise<Exit> {
  const { io } = deps;
  return onHub(options, deps, async (session) => {
    const { connection, speakers, home } = session;
    const hub = policyInForce(home, home.readVault())?.hub ?? null;
    const seen = recallFleet(deps.vault.stateFolder, connection.hubId);
    const find = async (): Promise<readonly WaitingGateway[]> =>
      (await findWaiting(deps, connection, speakers, hub, knownTo(session), seen, options.despite)).waiting;
    const waiting = await find();
    const unknown = names.find((name) => !waiting.some(({ gateway }) => gateway === name));
    if (unknown !== undefined) {
      throw new Denied(
        "not_found",
        `${showIdentifier(unknown)} does not wait on this hub. Nothing was sent. It asks there while it is locked, where it joined with --unlock-by-hub and the policy.json of this home is from after that (else copy it here anew); who waits: gw status --hub URL`,
      );
    }
    if (waiting.length === 0) {
      if (options.json) io.out("[]");
      else io.err("No gateway of this vault waits to be unlocked on this hub.");
      return exits.done;
    }
    if (names.length === 0 && options.all !== true) {
      const who = waiting.map(({ gateway }) => showIdentifier(gateway)).join(", ");
      io.err(`${who} ${waiting.length === 1 ? "waits" : "wait"}. Name those to unlock, or say --all.`);
      return exits.denied;
    }
    const chosen = options.all === true ? waiting : waiting.filter(({ gateway }) => names.includes(gateway));
    const outcomes = await unlockWithNewOffers(session, chosen, find, deps);
    if (options.json) {
      const records = outcomes.map(({ gateway, state, refusal }) => ({ gateway, state, code: refusal?.code ?? null }));
      io.out(JSON.stringify(records, null, 2));
    } else for (const one of outcomes) io.out(lineOf(one));
    if (outcomes.some(({ state }) => state === "refused")) return exits.denied;
    return outcomes.some(({ state }) => state === "no_answer") ? exits.pending : exits.done;
  });
}

/** A log may have gone too far on since its gateway offered it: that one asks anew a few seconds later, and is answered once more. */
async function unlockWithNewOffers(
  session: HubSession,
  chosen: readonly WaitingGateway[],
  find: () => Promise<readonly WaitingGateway[]>,
  deps: CliDeps,
): Promise<readonly Outcome[]> {
  const first = await unlockEach(session, chosen, deps);
  const tooOld = chosen.filter(({ gateway }) =>
    first.some((one) => one.gateway === gateway && one.refusal?.code === "log_attestation_refused"),
  );
  if (tooOld.length === 0) return first;
  const again = await unlockEach(session, await findAnew(tooOld, find, deps), deps);
  return first.map((one) => again.find(({ gateway }) => gateway === one.gateway) ?? one);
}

async function findAnew(
  before: readonly WaitingGateway[],
  find: () => Promise<readonly WaitingGateway[]>,
  { clock, sleep }: CliDeps,
): Promise<readonly WaitingGateway[]> {
  for (const stopAt = clock.bootMs() + defaults.hubAnswerMs; ; ) {
    const now = await find();
    const anew = before.flatMap(({ gateway, request: { nonce } }) =>
      now.filter((one) => one.gateway === gateway && one.request.nonce !== nonce),
    );
    if (anew.length === before.length || clock.bootMs() >= stopAt) return anew;
    await sleep.sleep(defaults.hubAgainMs);
  }
}

async function unlockEach(
  session: HubSession,
  chosen: readonly WaitingGateway[],
  deps: CliDeps,
): Promise<readonly Outcome[]> {
  const sign = ({ gateway, signingKey, request, offer, unseen }: WaitingGateway): Said => {
    const { operator } = session;
    const nowMs = deps.clock.wallMs();
    const attestation =
      offer === null
        ? null
        : signAttestation(offer, operator.name, operator.approver.key, Math.floor(nowMs / 1000)).toString("base64url");
    if (unseen)
      deps.io.err(
        `WARNING: the hub does not have all of what ${showIdentifier(gateway)} wrote before it started, so that its log was not attested. Do that on the host, before it stops: gw unlock`,
      );
    const statement: UnlockStatement = {
      format: "gw.hub-unlock/v1",
      hub_id: request.hub_id,
      gateway,
      vault_id: request.vault_id,
      nonce: request.nonce,
      sealed: sealUnlock(request, operator.serviceKey, deps.random),
      attestation,
      knows: knownTo(session),
      operator: operator.name,
      operator_key_id: operator.keyId,
      signed_at: isoTime(nowMs),
    };
    const signed = signHub(statement, (bytes) => operator.approver.sign(bytes));
    return { gateway, key: signingKey, body: unlockBody(signed) };
  };
  const said: Said[] = [];
  const refusals = new Map<string, Denied>();
  for (const one of chosen) {
    try {
      if (one.refused !== null) throw one.refused;
      said.push(sign(one));
    } catch (error) {
      if (!(error instanceof Denied)) throw error;
      refusals.set(one.gateway, error);
    }
  }
  const answered = said.length === 0 ? [] : await sayEach(session.connection, "unlock", said, deps);
  return chosen.map(({ gateway }) => {
    const refused = refusals.get(gateway);
    if (refused !== undefined) return { gateway, state: "refused", refusal: refused };
    const answer = answered.find((one) => one.gateway === gateway)?.answer ?? null;
    if (answer === null) return { gateway, state: "no_answer", refusal: null };
    if (answer.code === null) return { gateway, state: "unlocked", refusal: null };
    return { gateway, state: "refused", refusal: refusalIn(answer) };
  });
}

function lineOf({ gateway, state, refusal }: Outcome): string {
  const name = showIdentifier(gateway);
  if (state === "unlocked") return `${name} is unlocked.`;
  if (refusal !== null) return `${name} is NOT unlocked: ${refusal.code}: ${showIdentifier(refusal.message)}`;
  return `${name} has not answered. Its request may be over by now: see gw status --hub URL, and say it once more.`;
}
