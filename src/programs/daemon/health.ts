import { readdirSync, statfsSync, statSync } from "node:fs";
import { join } from "node:path";
import { findServiceManager, type ServiceManager } from "../../adapters/platform/linux/notify.ts";
import { mayContinue } from "../../conventions/caller/session.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import type { AuditSink } from "../../gateway/ports.ts";
import type { Clock } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import type { OperationRecords } from "../../surfaces/operator/operation-records.ts";
import { createFacts, type Facts, readForm, tellEvents } from "./facts.ts";
import { createMeter, type Gauges } from "./meter.ts";
import type { StewardState } from "./steward-parts.ts";

/** What machines are told of the gateway: lines for a journal, numbers for a scrape, signs of life for the service manager. */
export interface Health {
  readonly facts: Facts;
  watch(audit: AuditSink): AuditSink;
  /** The numbers as Prometheus reads them. */
  metrics(now: Omit<Gauges, "logBytes" | "diskFreeBytes">, home: string, auditFolder: string): string;
  ready(): void;
  stopping(): void;
}

export function createHealth(clock: Clock): Health {
  const facts = createFacts(clock, readForm(process.env), (line) => void process.stderr.write(line));
  const meter = createMeter(
    () => performance.now(),
    (events) => tellEvents(facts, events),
  );
  const manager = process.platform === "linux" ? findServiceManager(process.env) : null;
  return {
    facts,
    watch: (audit) => meter.watch(audit),
    metrics: (now, home, auditFolder) => {
      const { bavail, bsize } = statfsSync(home);
      return meter.text({ ...now, logBytes: sizeOf(auditFolder), diskFreeBytes: bavail * bsize });
    },
    ready() {
      facts.tell("info", "gateway_ready", { pid: process.pid });
      if (manager !== null) tellReady(manager);
      // The timer runs on the loop that serves everybody: a gateway that hangs stops saying so, and is started again.
      if (manager?.watchdogMs != null) setInterval(() => manager.notify("WATCHDOG=1"), manager.watchdogMs / 3).unref();
    },
    stopping: () => manager?.notify("STOPPING=1"),
  };
}

/** Said until it is heard: a manager that missed it would end us. */
function tellReady(manager: ServiceManager): void {
  if (!manager.notify("READY=1")) setTimeout(() => tellReady(manager), defaults.notifyAgainMs).unref();
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
