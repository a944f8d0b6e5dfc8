import type { SshSend } from "../../conventions/action/send.ts";
import { requireHeld } from "../../conventions/action/spooled.ts";
import { timeLeftMs } from "../../conventions/budget/budget.ts";
import type { NeverSent, TransportObservation } from "../../conventions/outcome/observation.ts";
import { placeOf } from "../../conventions/url/origin.ts";
import { Waker } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { HttpLoan, ToSign } from "../../vault/lent.ts";
import { now, requireUnlocked } from "../core.ts";
import type { Outbound } from "../outbound/outbound.ts";
import type { HttpSend, IntentReceipt, SendLimits } from "../ports.ts";
import type { Errand, StepPort } from "../steps.ts";
import type { AttemptNeeds } from "./needs.ts";
import type { CustodySending, Sending, Shot } from "./sending.ts";

/** What is done in the middle of a send. */
export interface Meanwhile {
  /** Denied where it may not go on after a wait. */
  requireStill(): void;
  /** A host has started it. */
  started(): void;
}

/** Step 10: the one place where something leaves the process. */
export function send(...asked: Parameters<typeof exchange>): Promise<TransportObservation> {
  const [{ ports }, { errand }] = asked;
  return ports.steps === undefined ? exchange(...asked) : watched(ports.steps, errand, () => exchange(...asked));
}

async function watched<Value>(steps: StepPort, errand: Errand, work: () => Promise<Value>): Promise<Value> {
  steps.before(`${errand}.sent`);
  const value = await work();
  steps.after(`${errand}.sent`);
  return value;
}

/** The credential is lent for the send alone. What the vault or the hub refuses is an observation like any other. */
async function exchange(
  core: AttemptNeeds,
  sending: Sending | CustodySending,
  receipt: IntentReceipt,
  timeoutMs: number,
  attemptId: string,
  { requireStill, started }: Meanwhile,
): Promise<TransportObservation> {
  const { request, run } = sending;
  try {
    if (sending.outbound.sideEffect && core.ports.hub !== undefined) {
      await core.ports.hub.beforeSend(receipt, attemptId);
      requireStill();
    }
    // The disk and the hub took of the run's time.
    const still = (): void => {
      requireStill();
      requireLendable(core, sending);
    };
    const limits = limitsOf(core, sending, Math.min(timeoutMs, timeLeftMs(run.budget, now(core))), still);
    switch (request.kind) {
      case "http":
        return await sendHttp(core, sending, request, receipt, limits);
      case "ssh":
        return await inPlace(core, sending, limits, still, (left) =>
          sendSsh(core, sending, request, receipt, { ...left, started }, attemptId),
        );
    }
  } catch (error) {
    if (!(error instanceof Denied)) throw error;
    const detail = `${error.code}: ${error.message}`;
    return { kind: "never_sent", reason: reasonOf(error), detail, elapsedMs: 0, connected: false };
  }
}

/** What was lent before the wait may have been disabled or removed since. What a probe brings along is not the vault's. */
function requireLendable(core: Pick<AttemptNeeds, "credentials">, { credential, lend }: Shot): void {
  if (credential === null || lend !== undefined) return;
  const found = requireUnlocked(core).find(credential);
  if (found !== null && !found.disabled) return;
  throw new Denied(
    "credential_disabled",
    `The credential ${credential} was disabled or removed while its send waited.`,
  );
}

function reasonOf({ code }: Denied): NeverSent["reason"] {
  // The detail says which it was: away, put back, or that another gateway took over.
  if (code.startsWith("hub_") || code === "operation_taken_over") return "hub_unreachable";
  // Whoever asked was stopped while the hub was waited for.
  return code === "session_ended" || code === "run_ended" ? "aborted" : "credential_refused";
}

async function sendHttp(
  core: AttemptNeeds,
  sending: Shot,
  request: HttpSend,
  receipt: IntentReceipt,
  limits: SendLimits,
): Promise<TransportObservation> {
  const { http } = core.ports;
  if (sending.credential === null) return http.send(receipt, request, null, limits);
  const { origin } = placeOf(request.url);
  const loan = sending.lend?.(origin) ?? lend(core, sending, request, sending.credential, origin);
  // What a provider entrusted to the gateway must no more come back to an agent than the credential itself.
  const entrusted = core.deployments.lendSecrets(sending.outbound.definition.pack.name);
  try {
    const { secrets } = entrusted;
    const lent = secrets.length === 0 ? loan : { ...loan, secrets: [...loan.secrets, ...secrets] };
    const observation = await http.send(receipt, request, lent, limits);
    core.tokens.heard.note(sending.credential, origin, observation, core.ports.clock.wallMs());
    return observation;
  } finally {
    entrusted.release();
    loan.release();
  }
}

/**
 * A connection to a host is two processes of ours: there are so many places for them, given in turn, and one caller has half of them
 * at most. Whoever waits spends the time of the send, and is looked at once more before anything leaves.
 */
async function inPlace(
  { ports: { clock, sleep }, sshPlaces }: Pick<AttemptNeeds, "ports" | "sshPlaces">,
  { holder }: Shot,
  limits: SendLimits,
  requireStill: () => void,
  work: (limits: SendLimits) => Promise<TransportObservation>,
): Promise<TransportObservation> {
  const place = { callerKey: holder?.callerKey ?? "" };
  const since = clock.bootMs();
  const given = new Waker();
  try {
    if (sshPlaces.take(place, 1, () => given.wake())) return await work(limits);
    await sleep.sleep(limits.timeoutMs, given);
    const elapsedMs = clock.bootMs() - since;
    if (!given.aborted || elapsedMs >= limits.timeoutMs) {
      const detail = "too many connections to hosts were under way, and none of them ended in time";
      return { kind: "never_sent", reason: "deadline", detail, elapsedMs, connected: false };
    }
    requireStill();
    return await work({ ...limits, timeoutMs: limits.timeoutMs - elapsedMs });
  } finally {
    sshPlaces.leave(place);
  }
}

/** Its identifier is the attempt's: a repeat is refused on the host. */
async function sendSsh(
  core: Pick<AttemptNeeds, "credentials" | "ports">,
  { credential }: Shot,
  { kind: _, operation: action, ...request }: SshSend,
  receipt: IntentReceipt,
  limits: SendLimits,
  requestId: string,
): Promise<TransportObservation> {
  if (credential === null) throw new Denied("credential_missing", "A host lets nobody in without a key.");
  const signer = requireUnlocked(core).lendSshSigner(credential, request.hostKey);
  try {
    return await core.ports.ssh.send(receipt, { ...request, action, requestId }, signer, limits);
  } finally {
    signer.release();
  }
}

/**
 * What nobody takes as it comes is held in memory, and bounded by that. A send that began is left to end: breaking it off
 * would only turn an answer into an unknown.
 */
function limitsOf(
  { answers: room }: Pick<AttemptNeeds, "answers">,
  { outbound, stream, holder }: Shot,
  timeoutMs: number,
  still: () => void,
): SendLimits {
  const { responseBytes } = outbound.definition.action.limits;
  if (stream !== undefined) return { timeoutMs, responseBytes, still, signal: stream.gone, sink: stream, room, holder };
  return { timeoutMs, responseBytes: Math.min(responseBytes, defaults.wholeResponseMaximumBytes), still, room, holder };
}

/** Where the credential is exchanged, its token is lent and never itself. */
function lend(
  core: Pick<AttemptNeeds, "credentials" | "ports" | "tokens">,
  { outbound }: Shot,
  request: HttpSend,
  label: string,
  origin: string,
): HttpLoan {
  const signing = toSign(core, outbound, request, label);
  core.tokens.used(label);
  const token = core.tokens.lend(label, outbound, request, signing);
  return token ?? requireUnlocked(core).lendHttp(label, origin, signing);
}

/** The request as it leaves, for a credential that signs it; null where the pack has none that does. */
function toSign(
  { ports, tokens }: Pick<AttemptNeeds, "ports" | "tokens">,
  { definition }: Outbound,
  request: HttpSend,
  label: string,
): ToSign | null {
  const auth = definition.pack.provider?.auth ?? null;
  if (auth === null || (auth.scheme !== "http-signature" && auth.scheme !== "aws-sigv4")) return null;
  const { method, url, headers } = request;
  const body = requireHeld(request.body);
  const about = { method, url, headers, body, atMs: ports.clock.wallMs() + tokens.skewMs(label, url) };
  if (!("region" in auth)) return { ...about, scheme: "http-signature", nonce: ports.ids.next("evt") };
  const { region, service, form } = auth;
  const expiresS = form === "query" ? defaults.presignedS : null;
  return { ...about, scheme: auth.scheme, scope: { region, service, expiresS } };
}
