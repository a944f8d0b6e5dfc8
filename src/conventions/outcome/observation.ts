import type { Digest } from "../../kernel/canonical-json.ts";

/**
 * What a transport saw of one attempt. It is data, never an exception: a transport that cannot say whether the
 * request reached the other side says `silent`, and only a proof that nothing left says `never_sent`.
 */
export type TransportObservation = NeverSent | Answered | Silent;

/** Proven: not one byte of the request reached the destination. */
export interface NeverSent {
  readonly kind: "never_sent";
  readonly reason:
    | "name_not_resolved"
    | "address_refused"
    | "connect_refused"
    | "connect_timeout"
    | "tls_failed"
    | "host_key_mismatch"
    | "authentication_refused"
    | "receiver_not_ready"
    | "credential_refused"
    /** What was about to leave could not be put on record where signed policy wants it first. */
    | "hub_unreachable"
    | "helper_failed"
    | "aborted"
    | "deadline";
  readonly detail: string;
  readonly elapsedMs: number;
  /** True when a connection was tried: failed connections count as external activity. */
  readonly connected: boolean;
}

/** The other side gave a whole answer: an HTTP response or a receiver's final frame. */
export interface Answered {
  readonly kind: "answered";
  /** HTTP status, or the exit status of the remote operation. */
  readonly status: number;
  /** Lower-case names; only those on the allow-list. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** The provider's own request identifier, when it gave one. */
  readonly remoteRequestId: string | null;
  readonly elapsedMs: number;
  /** Set when the body was withheld: it carried the credential, holds a new secret that cannot be told from the rest, or could not be read. */
  readonly withheld:
    | "credential_echoed"
    | "mint_unreadable"
    | "mint_missing"
    | "mint_repeated"
    | "mint_too_large"
    | "unreadable"
    | "token_taken"
    | null;
  readonly recordingDigest?: RecordingDigest;
  /** Where the body was passed on as it came: `body` is empty then. */
  readonly streamed?: Streamed;
}

/** What of a body was passed on while it came. */
export interface Streamed {
  readonly bytes: number;
  readonly digest: Digest;
}

/** Bytes left, or may have left, and no whole answer came back. */
export interface Silent {
  readonly kind: "silent";
  readonly reason:
    | "timeout"
    | "connection_lost"
    | "response_too_large"
    | "response_malformed"
    | "aborted"
    | "internal_fault"
    | "helper_lost"
    /** The answer was cut off there. */
    | "credential_echoed";
  readonly detail: string;
  readonly elapsedMs: number;
  /** What the other side had said by then of how far it was; a host's receiver says that it started. */
  readonly said?: string;
  readonly recordingDigest?: RecordingDigest;
  readonly streamed?: Streamed;
}

/** Only where the definition asks for a recording; null when it was wanted and could not be kept. */
type RecordingDigest = string | null;
