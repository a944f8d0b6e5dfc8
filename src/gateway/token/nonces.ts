import type { TransportObservation } from "../../conventions/outcome/observation.ts";

/** What servers asked to see in the next proof of possession (RFC 9449, section 8), by credential and origin. */
export interface Nonces {
  find(label: string, origin: string): string | null;
  /** Whatever was answered, a nonce in it is the next one to use. */
  heard(label: string, origin: string, observation: TransportObservation): void;
  clear(): void;
}

const NONCE = /^[\x21\x23-\x5b\x5d-\x7e]{1,512}$/;
const KEPT = 256;

export function createNonces(): Nonces {
  const kept = new Map<string, string>();
  return {
    find: (label, origin) => kept.get(`${label} ${origin}`) ?? null,
    heard(label, origin, observation) {
      const nonce = nonceIn(observation);
      if (nonce === null) return;
      const key = `${label} ${origin}`;
      kept.delete(key);
      const oldest = kept.size >= KEPT ? kept.keys().next().value : undefined;
      if (oldest !== undefined) kept.delete(oldest);
      kept.set(key, nonce);
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
