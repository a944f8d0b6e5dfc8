import type { TransportObservation } from "../../conventions/outcome/observation.ts";
import { defaults } from "../../kernel/defaults.ts";

/** What providers said of themselves in their last answers, by credential and origin: it counts for what is signed for that origin. */
export interface Heard {
  /** What the provider wants to see in the next proof of possession (RFC 9449, section 8). */
  nonce(label: string, origin: string): string | null;
  /** How far its clock is from ours: its own Date, within a day. */
  skewMs(label: string, origin: string): number | null;
  note(label: string, origin: string, observation: TransportObservation, wallMs: number): void;
  clear(): void;
}

interface Words {
  readonly nonce: string | null;
  readonly skewMs: number | null;
}

const NONCE = /^[\x21\x23-\x5b\x5d-\x7e]{1,512}$/;
const KEPT = 256;
const NOTHING: Words = { nonce: null, skewMs: null };

export function createHeard(): Heard {
  const kept = new Map<string, Words>();
  const find = (label: string, origin: string): Words => kept.get(`${label} ${origin}`) ?? NOTHING;
  return {
    nonce: (label, origin) => find(label, origin).nonce,
    skewMs: (label, origin) => find(label, origin).skewMs,
    note(label, origin, observation, wallMs) {
      const before = find(label, origin);
      const nonce = nonceIn(observation) ?? before.nonce;
      const skewMs = skewIn(observation, wallMs) ?? before.skewMs;
      if (nonce === before.nonce && skewMs === before.skewMs) return;
      const key = `${label} ${origin}`;
      kept.delete(key);
      const oldest = kept.size >= KEPT ? kept.keys().next().value : undefined;
      if (oldest !== undefined) kept.delete(oldest);
      kept.set(key, { nonce, skewMs });
    },
    clear: () => kept.clear(),
  };
}

/** Whether an API refused a request for the nonce alone, and named one. */
export function asksForNonce(observation: TransportObservation): boolean {
  if (observation.kind !== "answered" || observation.status !== 401) return false;
  return (observation.headers["www-authenticate"] ?? "").includes("use_dpop_nonce") && nonceIn(observation) !== null;
}

function nonceIn(observation: TransportObservation): string | null {
  const nonce = observation.kind === "answered" ? (observation.headers["dpop-nonce"] ?? "") : "";
  return NONCE.test(nonce) ? nonce : null;
}

/** Evidence for what we sign, within a day; a second or two of the way are none. */
function skewIn(observation: TransportObservation, wallMs: number): number | null {
  if (observation.kind !== "answered") return null;
  const skewMs = readDate(observation.headers["date"] ?? "") - wallMs;
  if (!(Math.abs(skewMs) <= defaults.tokenSkewMs)) return null;
  return Math.abs(skewMs) < 5_000 ? 0 : skewMs;
}

let lastDate = "";
let lastDateMs = Number.NaN;

/** The answers of a busy second bear the same date. */
function readDate(text: string): number {
  if (text !== lastDate) {
    lastDateMs = Date.parse(text);
    lastDate = text;
  }
  return lastDateMs;
}
