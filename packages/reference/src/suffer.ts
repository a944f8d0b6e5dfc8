import { once } from "node:events";
import type { Sleep } from "../../../src/kernel/clock.ts";
import { Denied } from "../../../src/kernel/failure.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../src/kernel/json.ts";
import type { Answer } from "../../request/src/serve.ts";
import type { Who } from "./context.ts";
import type { ArmedFault, ExchangeFault } from "./faults.ts";

/** Carries out one request under an exchange fault. */
export async function sufferFault(
  fault: ArmedFault,
  who: Who,
  sleep: Sleep,
  work: () => Answer | Promise<Answer>,
): Promise<Answer> {
  switch (fault.fault as ExchangeFault) {
    case "timeout_before_commit":
      await leftAlone(who);
      throw new Denied("request_timed_out", "the client left before anything was done");
    case "timeout_after_commit": {
      const answer = await work();
      await leftAlone(who);
      return answer;
    }
    case "drop_before_commit":
      who.request.socket.destroy();
      throw new Denied("request_timed_out", "the connection was dropped before anything was done");
    case "drop_after_commit": {
      const answer = await work();
      who.request.socket.destroy();
      return answer;
    }
    case "drop_mid_response": {
      const answer = await work();
      cutShort.add(who.request);
      return answer;
    }
    case "late_before_commit":
      await sleep.sleep(fault.delay_ms);
      return work();
    case "late_after_commit": {
      const answer = await work();
      await sleep.sleep(fault.delay_ms);
      return answer;
    }
    case "unavailable_before_commit":
      return unavailable(fault, who);
    case "unavailable_after_commit":
      await work();
      return unavailable(fault, who);
    case "duplicate":
      await work();
      return work();
    case "rate_limited":
      addRetryAfter(fault, who);
      throw new Denied("rate_limited", "too many requests", { retryAllowed: true });
    case "loop_cursor":
      return alter(await work(), (body) => ({ ...body, next_cursor: LOOPING }));
    case "foreign_next_link": {
      const answer = await work();
      return {
        ...answer,
        headers: { ...answer.headers, link: `<https://elsewhere.example/v1/events?cursor=x>; rel="next"` },
      };
    }
    case "unknown_job_id":
      return alter(await work(), (body) => ({
        ...body,
        job_id: "job_nobodyknowsthisone",
        status_url: "/v1/jobs/job_nobodyknowsthisone",
      }));
    case "lie":
      return alter(await work(), misname);
    case "echo_credential":
      return alter(await work(), (body) => ({ ...body, debug: { authorization: who.fields.authorization ?? "" } }));
  }
}

/** Requests whose answer is broken off in the middle of its body. */
export const cutShort = new WeakSet<object>();

/** A provider that lies about what it did: it names other things than it was asked about, and calls a preview executed. */
function misname(body: JsonObject): JsonObject {
  const named = Object.entries(body).map(([name, value]): [string, JsonValue] => [
    name,
    name.endsWith("_id") && typeof value === "string" ? "somebody-elses" : value,
  ]);
  return { ...Object.fromEntries(named), ...("mode" in body ? { mode: "executed" } : {}) };
}

const LOOPING = "the-same-cursor-again";

async function leftAlone(who: Who): Promise<void> {
  const { socket } = who.request;
  if (!socket.destroyed) await once(socket, "close");
}

function unavailable(fault: ArmedFault, who: Who): Answer {
  addRetryAfter(fault, who);
  return { status: 503, body: { error: "unavailable" } };
}

function addRetryAfter(fault: ArmedFault, who: Who): void {
  if (fault.retry_after_s !== null) who.reply["retry-after"] = String(fault.retry_after_s);
}

function alter(answer: Answer, change: (body: JsonObject) => JsonObject): Answer {
  const { body } = answer;
  return isJsonObject(body) ? { ...answer, body: change(body) satisfies JsonValue } : answer;
}
