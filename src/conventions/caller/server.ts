import { createHmac, type KeyObject, timingSafeEqual } from "node:crypto";
import { Denied } from "../../kernel/failure.ts";

/**
 * Who answers at the operator socket, decided before a service key is handed over. Being reachable under the right name proves
 * nothing: a program of the same user can rename a socket and listen in its place.
 */
export interface ServerSeen {
  readonly pid: number;
  readonly uid: number;
  /** The executable; null where this user may not look at it, as it is with our gateway. */
  readonly image: string | null;
}

export interface ServerWanted {
  /** Whom the gateway runs as: this user, or the one that dedicated mode names. */
  readonly uid: number;
  /** The user who asks. */
  readonly ownUid: number;
  /** The process that this very program started, where it did. */
  readonly child: number | null;
  /** Our own executable, which the gateway runs on as well. */
  readonly image: string;
}

export type ServerJudged = "proven" | "must_prove";

/** Denied `server_not_proven` for one that cannot be ours; `must_prove` where the kernel's word is not enough. */
export function judgeServer(seen: ServerSeen, wanted: ServerWanted): ServerJudged {
  if (seen.uid !== wanted.uid) {
    throw refused(`process ${seen.pid} of user ${seen.uid} answers there, and the gateway runs as user ${wanted.uid}`);
  }
  if (wanted.child !== null) {
    if (seen.pid === wanted.child) return "proven";
    throw refused(`process ${seen.pid} answers there, and the gateway that was started is process ${wanted.child}`);
  }
  // Another user's socket: nobody of this user can listen on it.
  if (seen.uid !== wanted.ownUid) return "proven";
  if (wanted.ownUid === 0 ? seen.image !== wanted.image : seen.image !== null) {
    throw refused(`process ${seen.pid} (${seen.image ?? "unknown"}) answers there, and it is not a hardened gateway`);
  }
  return "must_prove";
}

/** Said by a gateway about itself: it was unlocked before, in this life. The process id keeps it from being passed on. */
export function proveServer(key: KeyObject, nonce: string, pid: number): string {
  return createHmac("sha256", key).update(`gw.server-proof/v1\0${pid}\0${nonce}`).digest("base64");
}

export function requireProof(proof: string | null, key: KeyObject, nonce: string, pid: number, first: boolean): void {
  if (proof === null) {
    if (first) return;
    throw refused(
      `process ${pid} has not been unlocked since it started, so it holds nothing to prove itself with. Any program of your user could listen there and would get the key. If you, a unit or a script of yours has just started process ${pid} as the gateway, type: gw unlock --first. If not, stop that process and type: gw up`,
    );
  }
  const wanted = Buffer.from(proveServer(key, nonce, pid), "base64");
  const given = Buffer.from(proof, "base64");
  if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) {
    throw refused(`process ${pid} answers there and cannot prove that it was unlocked before`);
  }
}

function refused(why: string): Denied {
  return new Denied("server_not_proven", `The service key was not handed over: ${why}.`);
}
