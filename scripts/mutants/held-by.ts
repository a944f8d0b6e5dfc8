/**
 * Rooms whose rules are held by tests that cross rooms: which of them, the likeliest to notice first. They are run one by one after
 * the tests that stand in the room itself, until one notices.
 */
export const heldBy: Readonly<Record<string, readonly string[]>> = {
  "audit/verify": [
    "test/audit-attack.test.ts",
    "test/audit-log.test.ts",
    "src/surfaces/cli/audit/check-hand.test.ts",
    "test/audit-vectors.test.ts",
  ],
  "conventions/grant": ["src/surfaces/cli/grant/line.test.ts"],
  "conventions/upgrade": [
    "test/upgrade-pairs.test.ts",
    "test/upgrade-mutations.test.ts",
    "test/upgrade-draft.test.ts",
    "test/upgrade-probe.test.ts",
  ],
  "gateway/approval": [
    "test/gateway-pipeline.test.ts",
    "test/gateway-passkeys.test.ts",
    "test/gateway-ticket-entry.test.ts",
    "test/gateway-grants.test.ts",
  ],
  "gateway/attempt": [
    "test/gateway-outcomes.test.ts",
    "test/gateway-unknown.test.ts",
    "test/gateway-claims.test.ts",
    "test/gateway-redirects.test.ts",
    "test/gateway-spend.test.ts",
    "test/gateway-record.test.ts",
  ],
  "gateway/callback": ["test/gateway-callbacks.test.ts"],
  "gateway/dispatch.ts": [
    "test/gateway-dispatch.test.ts",
    "test/gateway-taken-back.test.ts",
    "test/gateway-pipeline.test.ts",
    "test/gateway-claims.test.ts",
  ],
  "gateway/discovery": ["test/gateway-discovery.test.ts"],
  "gateway/operation": [
    "test/gateway-operations.test.ts",
    "test/gateway-custody.test.ts",
    "test/gateway-leases.test.ts",
    "test/gateway-board.test.ts",
    "test/gateway-unknown.test.ts",
    "test/gateway-ssh-status.test.ts",
    "test/gateway-claims.test.ts",
    "test/gateway-errands.test.ts",
  ],
  "gateway/operation/observe.ts": [
    "test/gateway-observe.test.ts",
    "test/gateway-custody.test.ts",
    "test/gateway-operations.test.ts",
    "test/gateway-leases.test.ts",
    "test/gateway-callbacks.test.ts",
    "test/gateway-unknown.test.ts",
  ],
  "gateway/outbound": [
    "test/gateway-pipeline.test.ts",
    "test/gateway-grants.test.ts",
    "test/gateway-outcomes.test.ts",
    "test/gateway-record.test.ts",
    "test/gateway-spend.test.ts",
  ],
  "gateway/plan": ["test/gateway-plans.test.ts"],
  "gateway/record": ["test/gateway-record.test.ts", "test/gateway-volume.test.ts", "test/gateway-spend.test.ts"],
  "gateway/recover.ts": ["test/gateway-recover.test.ts", "test/gateway-claims.test.ts"],
  "gateway/rollback": ["test/gateway-rollback.test.ts"],
  "gateway/run": [
    "test/gateway-pipeline.test.ts",
    "test/gateway-endings.test.ts",
    "test/gateway-descendants.test.ts",
    "test/gateway-spend.test.ts",
  ],
  "gateway/ticket": [
    "test/gateway-ticket.test.ts",
    "test/gateway-ticket-entry.test.ts",
    "test/gateway-ticket-service.test.ts",
  ],
  "gateway/token": ["test/gateway-tokens.test.ts"],
  "packages/request/src": ["packages/request/test/pipeline.test.ts", "packages/request/test/hostile.test.ts"],
};
