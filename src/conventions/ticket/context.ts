/**
 * Ticket references: the signed work context that ties a sensitive action to work a person assigned. It names the ticket,
 * the exact operations and targets, the run and an end. The gateway verifies one and cannot make one; nothing an agent
 * sends becomes one.
 */

import { compileSchema, type JsonSchema } from "../../../packages/request/src/schema.ts";
import type { FromSchema } from "../../../packages/request/src/schema-type.ts";
import { type Digest, digestJson } from "../../kernel/canonical-json.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { JsonValue } from "../../kernel/json.ts";
import { readTarget } from "./target.ts";

export const CONTEXT_TYPE = "gw-work-context+jwt";

const entry = { type: "string", minLength: 1, maxLength: defaults.ticketEntryCharacters } as const;
const entries = {
  type: "array",
  items: entry,
  minItems: 1,
  maxItems: defaults.ticketEntries,
  uniqueItems: true,
} as const;
const text = { type: "string", minLength: 1, maxLength: 500 } as const;
const time = {
  type: "string",
  pattern: "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{3})?Z$",
} as const;

const REFERENCE = "^[A-Za-z0-9._-]{1,64}:[A-Za-z0-9._/#-]{1,128}$";

export const contextSchema = {
  type: "object",
  properties: {
    ticket_ref: { type: "string", pattern: REFERENCE },
    allowed_targets: entries,
    allowed_operations: entries,
    expires_at: time,
    issued_for_run: entry,
    issuer: text,
    issued_at: time,
    observed_state: text,
    emergency: {
      type: "object",
      properties: { reason: text, normal_ticket_opened_at: { ...time, type: ["string", "null"] } },
      required: ["reason", "normal_ticket_opened_at"],
    },
    batch: {
      type: "object",
      properties: { change_execution_id: text, manifest_digest: { type: "string", pattern: "^sha256:[0-9a-f]{64}$" } },
      required: ["change_execution_id", "manifest_digest"],
    },
  },
  required: [
    "ticket_ref",
    "allowed_targets",
    "allowed_operations",
    "expires_at",
    "issued_for_run",
    "issuer",
    "issued_at",
    "observed_state",
  ],
} as const satisfies JsonSchema;

/** What the issuer signs, with the specification's names. `ticket_ref` is SYSTEM:REFERENCE. */
export type WorkContext = FromSchema<typeof contextSchema>;

/** Made when it is first needed: every command loads this file, and few meet a ticket. */
let check: ReturnType<typeof compileSchema> | undefined;

/** Exactly a work context, every target in its one form; Denied `ticket_invalid` for anything else. */
export function readContext(value: JsonValue): WorkContext {
  check ??= compileSchema(contextSchema);
  const errors = check(value);
  if (errors.length > 0) throw new Denied("ticket_invalid", "This is not a work context.", { errors });
  const context = value as unknown as WorkContext;
  for (const target of context.allowed_targets) {
    if (readTarget(target).text !== target) {
      throw new Denied("ticket_invalid", `The target "${target}" is not in its one form, ${readTarget(target).text}.`);
    }
  }
  for (const moment of [context.expires_at, context.issued_at, context.emergency?.normal_ticket_opened_at]) {
    if (typeof moment === "string" && !isContextTime(moment)) {
      throw new Denied("ticket_invalid", `There is no such time as ${moment}.`);
    }
  }
  return context;
}

/** What the ticket allows, in one value: the same scope has the same digest, whoever signed it and whenever. */
export function digestScope({
  ticket_ref,
  allowed_targets,
  allowed_operations,
  expires_at,
  issued_for_run,
}: WorkContext): Digest {
  return digestJson({
    allowed_operations: [...allowed_operations].sort(),
    allowed_targets: [...allowed_targets].sort(),
    expires_at,
    issued_for_run,
    ticket_ref,
  });
}

const momentForm = new RegExp(time.pattern);

/** Whether this is a time as a context has it, and one that there is. */
export function isContextTime(moment: string): boolean {
  return momentForm.test(moment) && !Number.isNaN(Date.parse(moment));
}

const reference = new RegExp(REFERENCE);

/** Whether this names a ticket: SYSTEM:REFERENCE in plain characters, which no card can show as anything else. */
export function isTicketReference(text: string): boolean {
  return reference.test(text);
}

export function splitReference(ticketRef: string): { readonly system: string; readonly reference: string } {
  const at = ticketRef.indexOf(":");
  return { system: ticketRef.slice(0, at), reference: ticketRef.slice(at + 1) };
}
