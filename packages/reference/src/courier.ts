/**
 * Tells outside what was committed: webhooks (Standard Webhooks) and mail, from the outbox. A row stays until it was
 * taken, so a process that dies between commit and delivery delivers after its restart; receivers deduplicate by id.
 */
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Selectable } from "kysely";
import { signWebhook } from "../../../src/conventions/callback/standard-webhooks.ts";
import { defaults } from "../../../src/kernel/defaults.ts";
import type { Core } from "./core.ts";
import { settleDue } from "./operation/settle.ts";
import type { Tables } from "./tables.ts";

export interface CourierOptions {
  readonly webhookKey: Buffer;
  /** Where webhooks go; null: nowhere, and they are dropped. */
  readonly webhookUrl: () => string | null;
  /** Mail is spooled here, a file a message; a message that is spooled again takes its own place. */
  readonly mailFolder: string;
  /** Trouble of our own: a full disk, a folder that cannot be written. The courier goes on. */
  onFault(error: unknown): void;
}

export interface Courier {
  wake(): void;
  stop(): Promise<void>;
}

type Letter = Selectable<Tables["outbox"]>;

export function startCourier(core: Core, options: CourierOptions): Courier {
  const stopped = new AbortController();
  let woken = new AbortController();
  const loop = run();

  async function run(): Promise<void> {
    while (!stopped.signal.aborted) {
      woken = new AbortController();
      const nextMs = await makeRound(core, options, stopped.signal);
      const nowMs = core.clock.wallMs();
      const next = Math.min(nextMs ?? Infinity, nowMs + defaults.referenceIdleMs);
      if (!woken.signal.aborted) {
        await core.sleep.sleep(Math.max(1, next - nowMs), AbortSignal.any([woken.signal, stopped.signal]));
      }
    }
  }

  return {
    wake: () => woken.abort(),
    async stop() {
      stopped.abort();
      await loop;
    },
  };
}

/** Ends that have come, then letters that are due. Whatever goes wrong is told, and tried again a little later. */
async function makeRound(core: Core, options: CourierOptions, signal: AbortSignal): Promise<number | null> {
  try {
    const times = [settleDue(core), await deliverDue(core, options, signal)].filter((time) => time !== null);
    return times.length === 0 ? null : Math.min(...times);
  } catch (error) {
    options.onFault(error);
    return core.clock.wallMs() + defaults.referenceDeliveryBackoffMs;
  }
}

/** One pass over what is due; returns when the next try is. */
async function deliverDue(core: Core, options: CourierOptions, signal: AbortSignal): Promise<number | null> {
  const { store } = core;
  const nowMs = core.clock.wallMs();
  const due = store.all(
    store.db.selectFrom("outbox").selectAll().where("due_at_ms", "<=", nowMs).orderBy("seq").limit(100),
  );
  const reordered = due.length > 1 && core.faults.take(["webhook_reorder"], "webhooks") !== undefined;
  for (const letter of reordered ? due.toReversed() : due) {
    if (signal.aborted) return null;
    if (await deliver(core, options, letter, signal)) remove(core, letter.seq);
    else if (!signal.aborted) postpone(core, letter);
  }
  const rest = store.all(store.db.selectFrom("outbox").select("due_at_ms").orderBy("due_at_ms").limit(1));
  return rest[0]?.due_at_ms ?? null;
}

async function deliver(core: Core, options: CourierOptions, letter: Letter, signal: AbortSignal): Promise<boolean> {
  if (letter.kind === "mail") {
    try {
      spool(options.mailFolder, letter);
      return true;
    } catch (error) {
      options.onFault(error);
      return false;
    }
  }
  const url = options.webhookUrl();
  if (url === null || core.faults.take(["webhook_lose"], "webhooks") !== undefined) return true;
  const twice = core.faults.take(["webhook_repeat"], "webhooks") !== undefined;
  const taken = await send(core, options, url, letter, signal);
  if (taken && twice) await send(core, options, url, letter, signal);
  return taken;
}

async function send(
  core: Core,
  options: CourierOptions,
  url: string,
  letter: Letter,
  signal: AbortSignal,
): Promise<boolean> {
  const timestampS = Math.floor(core.clock.wallMs() / 1000);
  const head = signWebhook(options.webhookKey, letter.event_id, timestampS, letter.payload);
  try {
    const response = await fetch(url, {
      method: "POST",
      redirect: "error",
      headers: {
        "content-type": "application/json",
        "webhook-id": head.id,
        "webhook-timestamp": head.timestamp,
        "webhook-signature": head.signature,
      },
      body: letter.payload,
      signal: AbortSignal.any([signal, AbortSignal.timeout(defaults.referenceDeliveryMs)]),
    });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}

/** Written aside and moved into place: a reader never sees half a message, and a repeat replaces itself. */
function spool(folder: string, letter: Letter): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const file = join(folder, `${letter.event_id}.json`);
  writeFileSync(`${file}.part`, letter.payload, { mode: 0o600 });
  renameSync(`${file}.part`, file);
}

function remove(core: Core, seq: number): void {
  core.store.run(core.store.db.deleteFrom("outbox").where("seq", "=", seq));
}

/** Waits twice as long after each try. A webhook is given up after the last one and may never arrive; mail is kept. */
function postpone(core: Core, letter: Letter): void {
  const attempts = letter.attempts + 1;
  if (attempts >= defaults.referenceDeliveries && letter.kind === "webhook") {
    remove(core, letter.seq);
    return;
  }
  const due_at_ms =
    core.clock.wallMs() + defaults.referenceDeliveryBackoffMs * 2 ** Math.min(attempts, defaults.referenceDeliveries);
  core.store.run(core.store.db.updateTable("outbox").set({ attempts, due_at_ms }).where("seq", "=", letter.seq));
}
