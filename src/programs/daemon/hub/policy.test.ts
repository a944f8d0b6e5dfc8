import assert from "node:assert/strict";
import { test } from "node:test";
import type { CheckedDocument } from "../../../hub/documents.ts";
import { sealPolicyOrder } from "../../../hub/policy-order.ts";
import { Denied } from "../../../kernel/failure.ts";
import { takePolicyOrder } from "./policy.ts";

const vaultId = "vlt_1";
const document = (kind: "vault" | "policy", generation: number, text = String(generation)): CheckedDocument => ({
  ...{ kind, generation, text },
  digest: `${kind} ${text}`,
});

/**
 * What a gateway with vault 2 and policy 5 says to it, and what it put in force. A text is a number, signed unless it says otherwise.
 * `beside` is what an operator signs on that host meanwhile: taken in the place of what comes.
 */
async function answer(text: string, knows: { readonly vault: number; readonly policy: number }, beside?: string) {
  const taken: CheckedDocument[] = [];
  const home = {
    vaultId,
    here: () => [document("vault", 2), taken[0] ?? document("policy", 5)],
    check: (_kind: string, given: string) =>
      given.startsWith("unsigned") ? undefined : document("policy", Number.parseInt(given, 10), given),
    take: async (found: readonly CheckedDocument[]) =>
      taken.push(...(beside === undefined ? found : [document("policy", Number.parseInt(beside, 10), beside)])) > 0,
    open: (place: string, sealed: Buffer) => {
      const [at, plain = ""] = sealed.toString("utf8").split("\n");
      return at === place ? Buffer.from(plain) : undefined;
    },
  };
  const body = sealPolicyOrder({ text, knows }, vaultId, (place, plain) => Buffer.from(`${place}\n${String(plain)}`));
  const said = await takePolicyOrder(body, home).catch((error: unknown) =>
    error instanceof Denied ? error.code : assert.fail(String(error)),
  );
  return [said, taken.map((one) => one.text)] as const;
}

test("the policy after the one in force is taken, once, and no other", async () => {
  const knows = { vault: 2, policy: 5 };
  assert.deepEqual(await answer("6", knows), ["taken", ["6"]]);
  assert.deepEqual(await answer("5", { vault: 2, policy: 4 }), ["taken", []], "it is in force already");
  assert.deepEqual(await answer("5 of somebody else", { vault: 2, policy: 4 }), ["policy_moved_on", []]);
  assert.deepEqual(await answer("4", { vault: 2, policy: 3 }), ["policy_moved_on", []], "played again");
  assert.deepEqual(await answer("9", knows), ["policy_moved_on", []], "made from none that was ever in force");
  assert.deepEqual(await answer("unsigned", knows), ["policy_tampered", []]);
});

test("a gateway that is behind what its signer knows refuses a policy", async () => {
  assert.deepEqual(await answer("6", { vault: 3, policy: 5 }), ["gateway_behind", []]);
  assert.deepEqual(await answer("7", { vault: 2, policy: 6 }), ["gateway_behind", []]);
});

test("a policy beside which an operator signs on the host at that moment is not told as taken", async () => {
  const knows = { vault: 2, policy: 5 };
  assert.deepEqual(await answer("6", knows, "6 signed here"), ["policy_moved_on", ["6 signed here"]]);
  assert.deepEqual(await answer("6", knows, "7 signed here"), ["policy_moved_on", ["7 signed here"]]);
});
