import type { NewEvent } from "../../audit/event.ts";
import type { AuditSink } from "../../gateway/ports.ts";
import { defaults } from "../../kernel/defaults.ts";

/** Numbers about the gateway since its start, and as they are now, in the text that Prometheus reads. */
export interface Meter {
  /** The same log; what passes is counted, and how long it took to be on disk. */
  watch(audit: AuditSink): AuditSink;
  text(now: Gauges): string;
}

/** What is looked at when somebody asks. */
export interface Gauges {
  readonly locked: boolean;
  readonly stopped: boolean;
  readonly cardsWaiting: number;
  /** Of the question that waits longest; 0 where none does. */
  readonly oldestCardS: number;
  readonly operationsOpen: number;
  readonly sessionsLive: number;
  /** Large answers that wait for room, and how much of it is taken. */
  readonly answersWaiting: number;
  readonly answerBytes: number;
  readonly memory: Pick<NodeJS.MemoryUsage, "rss" | "heapUsed" | "external">;
  readonly logBytes: number;
  readonly diskFreeBytes: number;
}

const BUCKETS_S = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5] as const;

export function createMeter(nowMs: () => number, onEvents: (events: readonly NewEvent[]) => void): Meter {
  const outcomes = new Map<string, number>([
    ["succeeded", 0],
    ["failed", 0],
    ["accepted", 0],
    ["unknown", 0],
  ]);
  const refusals = new Map<string, number>();
  const flushes = { buckets: BUCKETS_S.map(() => 0), sumS: 0, count: 0 };
  let queued = 0;

  function count(events: readonly NewEvent[]): void {
    for (const event of events) {
      switch (event.event_type) {
        case "action_finished":
          add(outcomes, event.outcome, 1);
          break;
        case "attempt_ended":
        case "call_ended":
          // Answered, and the work goes on: nobody has to be woken for what is read until it is settled.
          add(outcomes, event.outcome === "unknown" && event.unobserved !== true ? "accepted" : event.outcome, 1);
          break;
        case "call_denied":
        case "caller_refused":
          add(refusals, event.code, 1);
          break;
        case "denials_counted":
          add(refusals, event.code, event.count);
          break;
      }
    }
  }

  function time(tookS: number): void {
    flushes.sumS += tookS;
    flushes.count += 1;
    BUCKETS_S.forEach((limit, index) => {
      if (tookS <= limit) flushes.buckets[index] = (flushes.buckets[index] ?? 0) + 1;
    });
  }

  return {
    watch: (audit) => ({
      head: () => audit.head(),
      hasRoom: () => audit.hasRoom(),
      append(events) {
        const beganMs = nowMs();
        queued += events.length;
        return audit.append(events).then(
          (receipt) => {
            queued -= events.length;
            time((nowMs() - beganMs) / 1_000);
            count(events);
            onEvents(events);
            return receipt;
          },
          (error: unknown) => {
            queued -= events.length;
            throw error;
          },
        );
      },
    }),
    text: (now) =>
      [
        ...family("gw_calls_total", "counter", "Sends that ended, by outcome", labelled("outcome", outcomes)),
        ...family("gw_refused_total", "counter", "Calls and callers refused, by code", labelled("code", refusals)),
        ...family("gw_cards_waiting", "gauge", "Questions that wait for a person", [["", now.cardsWaiting]]),
        ...family("gw_card_oldest_seconds", "gauge", "Age of the question that waits longest", [["", now.oldestCardS]]),
        ...family("gw_operations_open", "gauge", "Operations at providers that have not ended", [
          ["", now.operationsOpen],
        ]),
        ...family("gw_sessions_live", "gauge", "Approved sessions", [["", now.sessionsLive]]),
        ...family("gw_answers_waiting", "gauge", "Large answers of providers that wait for room", [
          ["", now.answersWaiting],
        ]),
        ...family("gw_answers_bytes", "gauge", "Room that large answers under way have taken", [["", now.answerBytes]]),
        ...family("gw_memory_bytes", "gauge", "Memory of the gateway's process", [
          ['{kind="resident"}', now.memory.rss],
          ['{kind="heap"}', now.memory.heapUsed],
          ['{kind="buffers"}', now.memory.external],
        ]),
        ...family("gw_log_queue_events", "gauge", "Events on their way to the disk", [["", queued]]),
        ...family("gw_log_write_seconds", "histogram", "Time until events were durable", [
          ...BUCKETS_S.map((limit, index) => [`_bucket{le="${limit}"}`, flushes.buckets[index] ?? 0] as const),
          ['_bucket{le="+Inf"}', flushes.count],
          ["_sum", flushes.sumS],
          ["_count", flushes.count],
        ]),
        ...family("gw_log_bytes", "gauge", "Size of the log folder", [["", now.logBytes]]),
        ...family("gw_disk_free_bytes", "gauge", "Room left on the home's file system", [["", now.diskFreeBytes]]),
        ...family("gw_locked", "gauge", "1 while nobody has unlocked it", [["", Number(now.locked)]]),
        ...family("gw_stopped", "gauge", "1 when it can no longer record and sends nothing", [
          ["", Number(now.stopped)],
        ]),
        "",
      ].join("\n"),
  };
}

/** Codes are ours and few; should that ever change, the rest is counted together. */
function add(counters: Map<string, number>, name: string, count: number): void {
  const key = counters.has(name) || counters.size < defaults.metricLabels ? name : "other";
  counters.set(key, (counters.get(key) ?? 0) + count);
}

function labelled(label: string, counters: ReadonlyMap<string, number>): readonly (readonly [string, number])[] {
  return [...counters].map(([name, count]) => [`{${label}="${name.replaceAll(/[^a-z0-9_]/g, "_")}"}`, count]);
}

function family(
  name: string,
  type: "counter" | "gauge" | "histogram",
  help: string,
  samples: readonly (readonly [string, number])[],
): readonly string[] {
  return [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${type}`,
    ...samples.map(([end, value]) => `${name}${end} ${value}`),
  ];
}
