import { createHash, type Hash } from "node:crypto";
import { type Digest, digestBytes } from "../../../src/kernel/canonical-json.ts";
import { Denied, Fault } from "../../../src/kernel/failure.ts";
import { faultOn } from "./conversation.ts";
import type { Intake } from "./pipeline.ts";

/** The little of node:http's IncomingMessage that is needed, so that this room imports no network module. */
export interface IncomingBody {
  readonly complete: boolean;
  /** Somebody took bytes of it already, as an application's own body parser does. */
  readonly readableDidRead?: boolean;
  readonly rawTrailers: readonly string[];
  readonly socket: { readonly destroyed?: boolean };
  on(event: "data", listener: (chunk: Buffer) => void): unknown;
  on(event: "end" | "close", listener: () => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
  off(event: "data", listener: (chunk: Buffer) => void): unknown;
  pause(): unknown;
  resume(): unknown;
}

/** What came in for a request, for the record of one that is refused: how much was read, and its digest. */
export interface SeenBytes {
  add(chunk: Uint8Array): void;
  told(): { readonly digest: Digest | null; readonly bytes: number };
}

/** Most bodies come in one piece and are accepted, where nobody asks for their digest: the first piece is only kept at hand. */
export function seeBytes(): SeenBytes {
  let bytes = 0;
  let first: Uint8Array | null = null;
  let hash: Hash | null = null;
  return {
    add(chunk) {
      bytes += chunk.byteLength;
      if (first === null) first = chunk;
      else {
        hash ??= createHash("sha256").update(first);
        hash.update(chunk);
      }
    },
    told() {
      if (first === null || bytes === 0) return { digest: null, bytes };
      return { digest: hash === null ? digestBytes(first) : (`sha256:${hash.copy().digest("hex")}` as Digest), bytes };
    },
  };
}

/** Its sender did nothing wrong, and half a body is none: what stands before the strict routes took it. */
const ALREADY_READ =
  "The body was read before these routes got the request. Put them before whatever reads bodies, such as express.json().";

/** Feeds an intake as bytes arrive and stops at its first refusal: what follows is never read. */
export function readBody(
  source: IncomingBody,
  intake: Pick<Intake<unknown>, "push" | "abort">,
  seen?: SeenBytes,
): Promise<void> {
  if (source.readableDidRead === true) {
    intake.abort();
    return Promise.reject(new Fault(ALREADY_READ));
  }
  return new Promise((resolve, reject) => {
    let settled = false;
    let ended = false;
    // A part that is still being written belongs to the body: it is whole when that is done.
    let writing: Promise<void> | null = null;
    const fail = (error: unknown): void => {
      if (settled) return;
      settled = true;
      source.off("data", onData);
      source.pause();
      intake.abort();
      reject(error);
    };
    const cutOff = (): void => {
      // Every body closes; only one that was not whole is worth a refusal and its stack.
      if (!settled && !ended) {
        fail(faultOn(source.socket) ?? new Denied("request_cut_off", "the connection ended before the body was whole"));
      }
    };
    const onData = (chunk: Buffer): void => {
      if (settled) return;
      try {
        seen?.add(chunk);
        const wait = intake.push(chunk);
        if (wait === undefined) return;
        source.pause();
        writing = wait;
        wait.then(() => source.resume(), fail);
      } catch (error) {
        fail(error);
      }
    };
    source.on("data", onData);
    source.on("end", () => {
      if (settled || !source.complete) return cutOff();
      ended = true;
      const done = (): void => {
        if (settled) return;
        settled = true;
        resolve();
      };
      if (writing === null) done();
      else writing.then(done, fail);
    });
    source.on("close", cutOff);
    source.on("error", cutOff);
  });
}

/** Feeds an intake the body of a request that came as a whole: only a sink may have to be waited for. */
export function takeWhole(
  body: Buffer,
  intake: Pick<Intake<unknown>, "push" | "abort">,
  seen: SeenBytes,
): void | Promise<void> {
  const giveUp = (error: unknown): never => {
    intake.abort();
    throw error;
  };
  try {
    if (body.byteLength === 0) return;
    seen.add(body);
    return intake.push(body)?.catch(giveUp);
  } catch (error) {
    giveUp(error);
  }
}
