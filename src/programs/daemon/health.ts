import { readdirSync, statfsSync, statSync } from "node:fs";
import { join } from "node:path";
import { findServiceManager } from "../../adapters/platform/linux/notify.ts";
import type { NewEvent } from "../../audit/event.ts";
import { mayContinue } from "../../conventions/caller/session.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import type { AuditSink } from "../../gateway/ports.ts";
import type { Clock } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import type { OperationRecords } from "../../surfaces/operator/operation-records.ts";
import { createFacts, type Facts, printableAscii, readForm, tellEvents } from "./facts.ts";
import { createMeter, type Gauges } from "./meter.ts";
import type { StewardState } from "./steward-parts.ts";

/** What machines are told of the gateway: lines for a journal, numbers for a scrape, signs of life for the service manager. */
export interface Health {
  readonly facts: Facts;
  watch(audit: AuditSink): AuditSink;
  /** The numbers as Prometheus reads them. */
  metrics(now: Omit<Gauges, "logBytes" | "diskFreeBytes">, home: string, auditFolder: string): string;
  /** Why nobody can unlock it as it is, or why a key file did not. */
  staysLocked(code: string, message: string): void;
  /** From here on the service manager is told as well whether anything is served, in words for whoever looks at it. */
  ready(now: () => Pick<Gauges, "locked" | "stopped">): void;
  /** To be called where no event says that it changed. */
  lookAgain(): void;
  stopping(): void;
  refused(code: string, message: string): void;
}

const LOCKED = "locked since its start: waits for gw unlock --first";
/** Where no event said that it was locked: the log could not take it. */
const LOCKED_AGAIN = "locked: waits for gw unlock";
const STOPPED = "sends nothing: the log or the state cannot be written. Mend the disk, then: gw resume";
const TURNS: ReadonlySet<string> = new Set(["gateway_locked", "gateway_unlocked", "gateway_resumed"]);

export function createHealth(clock: Clock): Health {
  const facts = createFacts(clock, readForm(process.env), (line) => void process.stderr.write(line));
  const meter = createMeter(
    () => performance.now(),
    (events) => {
      tellEvents(facts, events);
      follow(events);
    },
  );
  const manager = process.platform === "linux" ? findServiceManager(process.env) : null;
  let whyLocked = LOCKED;
  let look: (() => Pick<Gauges, "locked" | "stopped">) | null = null;
  let heard = "";

  function follow(events: readonly NewEvent[]): void {
    for (const event of events) {
      if (event.event_type === "gateway_locked") {
        // Who it was, and what they gave as the reason, is for the audit log.
        const byItself = (event.operator ?? null) === null;
        whyLocked = byItself
          ? `locked (${event.reason}): gw status says what to do`
          : "locked by an operator: waits for gw unlock";
      }
      if (event.event_type === "gateway_unlocked") whyLocked = LOCKED_AGAIN;
      if (TURNS.has(event.event_type)) tellStanding();
    }
  }

  /** Said until it is heard: a manager that missed that it is ready would end us. */
  function tellStanding(): void {
    if (manager === null || look === null) return;
    const { locked, stopped } = look();
    const standing = stopped ? STOPPED : locked ? whyLocked : "unlocked";
    if (standing === heard) return;
    if (manager.notify("READY=1", `STATUS=${standing}`)) heard = standing;
    else setTimeout(tellStanding, defaults.notifyAgainMs).unref();
  }

  return {
    facts,
    watch: (audit) => meter.watch(audit),
    metrics: (now, home, auditFolder) => {
      const { bavail, bsize } = statfsSync(home);
      return meter.text({ ...now, logBytes: sizeOf(auditFolder), diskFreeBytes: bavail * bsize });
    },
    staysLocked(code, message) {
      facts.tell("error", "stays_locked", { code, message });
      whyLocked = `locked (${code}): gw status says what to do`;
    },
    ready(now) {
      facts.tell("info", "gateway_ready", { pid: process.pid });
      look = now;
      tellStanding();
      // The timer runs on the loop that serves everybody: a gateway that hangs stops saying so, and is started again.
      if (manager?.watchdogMs != null) setInterval(() => manager.notify("WATCHDOG=1"), manager.watchdogMs / 3).unref();
    },
    lookAgain: tellStanding,
    stopping() {
      look = null;
      // Without words: whoever looks later would take the last ones for how it is.
      manager?.notify("STOPPING=1", "STATUS=");
    },
    refused(code, message) {
      if (!facts.plain) facts.tell("error", "start_refused", { code, message: `${code}: ${message}` });
      // The manager shows the journal's last lines, which are its own by the time that it gives up.
      manager?.notify(`STATUS=${code}: ${printableAscii(message.split("\n", 1)[0] ?? "")}`);
    },
  };
}

/** How things stand this moment. */
export function gaugesOf(
  gateway: Gateway,
  operations: OperationRecords,
  { stoppedBy }: StewardState,
  clock: Clock,
): Omit<Gauges, "logBytes" | "diskFreeBytes"> {
  const waiting = gateway.desk.list();
  const asked = waiting.flatMap(({ card, askedBootMs }) => (card === null ? [] : [askedBootMs]));
  const answers = gateway.answers.status();
  const oldestMs = asked.length === 0 ? 0 : clock.bootMs() - Math.min(...asked);
  return {
    locked: gateway.locked,
    stopped: stoppedBy !== null,
    cardsWaiting: waiting.length,
    oldestCardS: Math.max(0, oldestMs / 1_000),
    operationsOpen: operations.board().open,
    sessionsLive: gateway.sessions().filter(mayContinue).length,
    answersWaiting: answers.waiting,
    answerBytes: answers.heldBytes,
    memory: process.memoryUsage(),
  };
}

/** Files of the log that vanish meanwhile were archived. */
function sizeOf(folder: string): number {
  return readdirSync(folder)
    .map((name) => statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0)
    .reduce((sum, size) => sum + size, 0);
}
