import assert from "node:assert/strict";
import { test } from "node:test";
import { Denied } from "../../../kernel/failure.ts";
import type { FoundOperation } from "./cards.ts";
import { requireSame } from "./operations.ts";

const shown = (gateway: string, request_fingerprint: string): FoundOperation =>
  ({ speaker: { gateway }, operation: { operation_id: "op_1", request_fingerprint } }) as unknown as FoundOperation;

test("an operation that two gateways show is settled only where both show the same request", () => {
  const [dead, heir, owned] = [shown("web1", "a"), shown("web2", "a"), shown("web9", "b")];
  assert.equal(requireSame([dead]), dead.operation);
  assert.equal(requireSame([dead, heir]), dead.operation);
  assert.throws(
    () => requireSame([dead, heir, owned]),
    (error) => error instanceof Denied && error.code === "card_mismatch",
  );
});
