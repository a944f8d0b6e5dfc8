import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { readContext } from "../../../conventions/ticket/context.ts";
import { digestBytes } from "../../../kernel/canonical-json.ts";
import { Denied } from "../../../kernel/failure.ts";
import { type TicketOptions, writeContext } from "./ticket.ts";

const NOW = Date.parse("2030-01-01T00:00:00.000Z");
const DEADLINE = NOW + 600_000;
const good = {
  home: "/nowhere",
  json: false,
  ref: "jira:OPS-17",
  target: ["HTTPS://api.acme.example/m?b=2&a=1"],
  operation: ["acme.role.apply"],
} as const;

const write = (options: TicketOptions) => readContext(writeContext("run_1", options, "ada", NOW, DEADLINE) as never);

test("what is signed names ticket, exact targets and operations, run, issuer and an end", () => {
  assert.deepEqual(write({ ...good, minutes: 5 }), {
    ticket_ref: "jira:OPS-17",
    allowed_targets: ["https://api.acme.example/m?a=1&b=2"],
    allowed_operations: ["acme.role.apply"],
    expires_at: "2030-01-01T00:05:00.000Z",
    issued_for_run: "run_1",
    issuer: "ada",
    issued_at: "2030-01-01T00:00:00.000Z",
    observed_state: "assigned by the operator",
  });
});

test("a context never lasts longer than its run, asked for or not", () => {
  for (const options of [good, { ...good, minutes: 1_440 }]) {
    assert.equal(write(options).expires_at, "2030-01-01T00:10:00.000Z");
  }
});

test("an emergency carries its reason and when the normal ticket was opened, and may do without a ticket", () => {
  const { ref: _, ...without } = good;
  const context = write({ ...without, emergency: true, reason: "down", openedAt: "2029-12-31T23:00:00Z" });
  assert.equal(context.ticket_ref, "emergency:run_1");
  assert.deepEqual(context.emergency, { reason: "down", normal_ticket_opened_at: "2029-12-31T23:00:00Z" });
  assert.equal(write({ ...good, emergency: true, reason: "down" }).emergency?.normal_ticket_opened_at, null);
});

test("a batch stores the digest of its manifest", () => {
  const folder = mkdtempSync(join(tmpdir(), "gw-"));
  try {
    const manifest = join(folder, "manifest.json");
    writeFileSync(manifest, "{}");
    assert.deepEqual(write({ ...good, change: "chg-9", manifest }).batch, {
      change_execution_id: "chg-9",
      manifest_digest: digestBytes(Buffer.from("{}")),
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("what cannot be a ticket is refused before anything is signed", () => {
  const { ref: _, ...without } = good;
  for (const options of [
    without,
    { ...good, ref: "OPS-17" },
    { ...good, ref: "jira:OPS 17" },
    { ...good, target: ["everything"] },
    { ...good, target: ["https://api.acme.example/*"] },
    { ...good, target: [] },
    { ...good, operation: [] },
    { ...good, emergency: true },
    { ...good, emergency: true, reason: "" },
    { ...good, emergency: true, reason: "down", openedAt: "yesterday" },
    { ...good, reason: "down" },
    { ...good, openedAt: "2029-12-31T23:00:00Z" },
    { ...good, minutes: 0 },
    { ...good, minutes: 1.5 },
    { ...good, minutes: Number.NaN },
    { ...good, minutes: 1e15 },
    { ...good, change: "chg-9" },
    { ...good, manifest: "/nowhere/manifest" },
    { ...good, change: "chg-9", manifest: "/nowhere/manifest" },
  ] as readonly TicketOptions[]) {
    assert.throws(
      () => write(options),
      (error) => error instanceof Denied && error.code === "ticket_invalid",
    );
  }
});
