import { parseJsonValue } from "../../../packages/request/src/json/parse.ts";
import { followPointer } from "../../../packages/request/src/pointer.ts";
import { type Digest, digestBytes, digestText } from "../../kernel/canonical-json.ts";
import { readIdentifier } from "../operation/read-status.ts";
import { type CallbackRule, fieldOf, type ReceivedCallback } from "./callback.ts";

/** All that is taken from a verified callback. Whatever else its body claims, such as a state, is not read. */
export interface CallbackNotice {
  readonly eventId: string | null;
  /** Null where it is about no job. */
  readonly jobId: string | null;
  /** The same for the same event of the same pack, however often and in whatever order it comes. */
  readonly key: Digest;
}

const VISIBLE = /^[\x21-\x7e]{1,256}$/;

/** Throws Denied where the body is not strict JSON. */
export function readCallback(pack: string, rule: CallbackRule, received: ReceivedCallback): CallbackNotice {
  const body = parseJsonValue(received.body, { longIntegersAsText: true });
  const { rawHeaders } = received;
  const eventId = ((): string | null => {
    switch (rule.eventId.kind) {
      case "scheme":
        return visible(fieldOf(rawHeaders, "webhook-id"));
      case "header":
        return visible(fieldOf(rawHeaders, rule.eventId.name));
      case "body":
        return readIdentifier(followPointer(body, rule.eventId.pointer));
      case "none":
        return null;
    }
  })();
  const named = eventId === null ? `body ${digestBytes(received.body)}` : `event ${eventId}`;
  return {
    eventId,
    jobId: readIdentifier(followPointer(body, rule.jobId)),
    key: digestText(`${pack} ${named}`),
  };
}

function visible(text: string | null): string | null {
  return text !== null && VISIBLE.test(text) ? text : null;
}
