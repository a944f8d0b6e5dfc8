import type { KeyObject } from "node:crypto";
import type { AttestationOffer } from "../audit/attestation.ts";
import { openSealed, sealFor } from "../audit/keys/hpke.ts";
import { publicKeyOf } from "../audit/keys/raw.ts";
import { canonicalJson } from "../kernel/canonical-json.ts";
import type { Random } from "../kernel/clock.ts";
import { defaults } from "../kernel/defaults.ts";
import { Denied } from "../kernel/failure.ts";
import { Secret } from "../kernel/secret.ts";
import type { Generations } from "./documents.ts";
import { readHubStatement, type SignedText, type UnlockStatement, type WaitingStatement } from "./statement.ts";

/** What binds a sealed key to one life of one process, wherever the database shows it. */
type Bound = Pick<WaitingStatement, "hub_id" | "gateway" | "vault_id" | "nonce" | "sealing_key">;

const INFO = Buffer.from("gw hub unlock v1");
const RAW_KEY_BYTES = 32;
const LINK = /^[0-9a-f]{64}$/;

/** For whoever has the private half of the request's own key, and nobody else. */
export function sealUnlock(bound: Bound, serviceKey: Secret, random: Random): string {
  try {
    const recipient = publicKeyOf("x25519", Buffer.from(bound.sealing_key, "base64url"));
    const { encapsulated, sealed } = serviceKey.use((bytes) => sealFor(recipient, INFO, aadOf(bound), bytes, random));
    return Buffer.concat([encapsulated, sealed]).toString("base64url");
  } catch {
    // A point of small order: no process draws one.
    throw new Denied("signature_invalid", `${bound.gateway} asks with a key that no process has. Look at that host.`);
  }
}

/** Undefined for what was sealed to another request. */
export function openUnlock(bound: Bound, own: KeyObject, given: string): Secret | undefined {
  const bytes = Buffer.from(given, "base64url");
  const parts = { encapsulated: bytes.subarray(0, RAW_KEY_BYTES), sealed: bytes.subarray(RAW_KEY_BYTES) };
  const plain = openSealed(own, parts, INFO, aadOf(bound));
  return plain === undefined ? undefined : Secret.take(plain);
}

function aadOf({ hub_id, gateway, vault_id, nonce, sealing_key }: Bound): Buffer {
  return Buffer.from(canonicalJson({ hub_id, gateway, vault_id, nonce, sealing_key }), "utf8");
}

/** What an operator's client knows of a gateway before it hands over a key. */
export interface KnownGateway {
  readonly hubId: string;
  readonly vaultId: string;
  readonly gateway: string;
  /** As signed policy names it. */
  readonly signingKey: Buffer;
  /** The newest signed files that this client has, or that a gateway says it follows. */
  readonly knows: Generations & { /** Where it is a gateway that says so. */ readonly by?: string };
  /** How far its log was seen, by its own word on the hub and in this client's memory. */
  readonly log: {
    readonly id: string;
    readonly frame: number;
    /** Its own word on the hub; null where there is none, or less than this client's memory has. */
    readonly head: { readonly frame: number; readonly link: string } | null;
  };
}

/** Undefined for what this gateway did not sign for this vault and hub. */
export function readWaiting(given: SignedText, known: KnownGateway): WaitingStatement | undefined {
  const said = readHubStatement<WaitingStatement>(given, "gw.hub-waiting/v1", known.signingKey);
  if (said?.hub_id !== known.hubId || said.gateway !== known.gateway || said.vault_id !== known.vaultId)
    return undefined;
  const { hub_ms, frame, knows, nonce, sealing_key, attestation: offer } = said;
  const numbers = [
    hub_ms,
    frame,
    knows?.vault,
    knows?.policy,
    offer?.open_frame,
    offer?.head_frame,
    offer?.before_frame,
  ];
  const links = [offer?.open_link, offer?.head_link, offer?.before_link];
  const whole =
    numbers.every((one) => Number.isSafeInteger(one) && one >= 0) &&
    [nonce, sealing_key, ...links].every((one) => typeof one === "string") &&
    links.every((one) => LINK.test(one)) &&
    typeof offer.unclean === "boolean";
  return whole && Buffer.from(sealing_key, "base64url").length === RAW_KEY_BYTES ? said : undefined;
}

/**
 * What an operator may sign for without seeing the log: that it goes on from the very frame at which its own word on the hub ends.
 * Null where that is not so: the hub has not all of what was before, or this life of the process is on it already.
 */
export function offerOf({ attestation: said }: WaitingStatement, { log }: KnownGateway): AttestationOffer | null {
  if (said.before_frame !== log.head?.frame || said.before_link !== log.head.link) return null;
  const bytes = (hex: string): Buffer => Buffer.from(hex, "hex");
  return {
    logId: bytes(log.id),
    openFrame: said.open_frame,
    openLink: bytes(said.open_link),
    headFrame: said.head_frame,
    headLink: bytes(said.head_link),
    beforeFrame: said.before_frame,
    beforeLink: bytes(said.before_link),
    unclean: said.unclean,
  };
}

/** One that was said long ago, by the database's own clock, is over: its process says it anew every few seconds. */
export function isFresh({ hub_ms }: WaitingStatement, hubNowMs: number): boolean {
  return Math.abs(hubNowMs - hub_ms) <= defaults.hubSilentMs;
}

/** Denied as an ordinary unlock would be, where the gateway shows less than was seen before. */
export function requireNotBack(said: WaitingStatement, { gateway, knows, log }: KnownGateway): void {
  if (said.knows.vault < knows.vault || said.knows.policy < knows.policy) {
    throw new Denied(
      "gateway_behind",
      `${gateway} shows vault ${said.knows.vault} and policy ${said.knows.policy}, and ${knows.by ?? "you"} ${knows.by === undefined ? "have" : "says that it has"} vault ${knows.vault} and policy ${knows.policy}: its home was put back, or has not followed yet. No key was handed over. Put the newest vault.json and policy.json there, or unlock it on the host.${knows.by === undefined ? "" : ` If ${knows.by} lies, since somebody owns that host: --despite ${knows.by}`}`,
    );
  }
  if (said.log_id !== log.id || said.frame < log.frame) {
    throw new Denied(
      "log_rolled_back",
      `${gateway} shows its log up to frame ${said.frame}, and frame ${log.frame} of log ${log.id} was seen before: it was cut back or replaced. No key was handed over. Look at it with: gw audit verify --hub`,
    );
  }
  const { before_frame: before, before_link: link } = said.attestation;
  if (before === log.head?.frame && link !== log.head.link) {
    throw new Denied(
      "log_rolled_back",
      `${gateway} has another frame ${before} in its log than it put on the hub: it was cut back or replaced. No key was handed over. Look at it with: gw audit verify --hub`,
    );
  }
}

/** What stands in the database for a gateway to take. */
export function unlockBody({ text, signature }: SignedText): string {
  return JSON.stringify({ text, signature: signature.toString("base64url") });
}

export function readUnlockBody(body: string): SignedText | undefined {
  try {
    const { text, signature } = JSON.parse(body) as { readonly text?: unknown; readonly signature?: unknown };
    if (typeof text !== "string" || typeof signature !== "string") return undefined;
    return { text, signature: Buffer.from(signature, "base64url") };
  } catch {
    return undefined;
  }
}

/** Of whichever operator signed it; undefined where none of them did. */
export function readUnlock(
  given: SignedText,
  operators: readonly { readonly name: string; readonly keyId: string; readonly approverKey: Buffer }[],
): UnlockStatement | undefined {
  for (const { name, keyId, approverKey } of operators) {
    const said = readHubStatement<UnlockStatement>(given, "gw.hub-unlock/v1", approverKey);
    if (said !== undefined && said.operator === name && said.operator_key_id === keyId && isWhole(said)) return said;
  }
  return undefined;
}

function isWhole({ sealed, knows, attestation }: UnlockStatement): boolean {
  const numbers = [knows?.vault, knows?.policy].every((one) => Number.isSafeInteger(one));
  return numbers && typeof sealed === "string" && (attestation === null || typeof attestation === "string");
}
