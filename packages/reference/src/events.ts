import type { JsonObject } from "../../../src/kernel/json.ts";
import { type Core, nowIso } from "./core.ts";
import { insertRow } from "./prepared.ts";

export interface ChangeEvent {
  readonly tenant: string;
  readonly actor: string;
  readonly type: string;
  readonly resource: string;
}

/** Writes a completed change into the feed and its notice into the outbox, in the transaction that made the change. */
export function recordChange(core: Core, event: ChangeEvent, notice: JsonObject): string {
  const { store } = core;
  const event_id = core.identify("evt");
  const { tenant: tenant_id, actor: actor_id, type, resource } = event;
  const at = nowIso(core);
  store.run(insertRow("events", { tenant_id, event_id, type, resource, actor_id, at }));
  if (core.subscribed())
    post(core, tenant_id, event_id, "webhook", { type, timestamp: at, data: { event_id, resource, ...notice } });
  return event_id;
}

/** Adds something to tell outside. It leaves after the transaction has committed, and again until it was taken. */
export function post(core: Core, tenant: string, eventId: string, kind: "webhook" | "mail", payload: JsonObject): void {
  core.store.run(
    insertRow("outbox", {
      tenant_id: tenant,
      event_id: eventId,
      kind,
      payload: JSON.stringify(payload),
      attempts: 0,
      due_at_ms: core.clock.wallMs(),
    }),
  );
  core.published();
}
