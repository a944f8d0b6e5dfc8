import type { OperatorKey } from "../../conventions/approval/decision.ts";
import { type SignedDecision, verifyDecision } from "../../conventions/upgrade/decision/statement.ts";
import type { Ledger } from "../../gateway/record/ledger.ts";
import type { Envelope } from "../../gateway/record/record.ts";
import { Denied } from "../../kernel/failure.ts";
import type { Login } from "../../surfaces/operator/logins.ts";
import type { SecretVersion } from "../../vault/entry.ts";
import type { VaultHome } from "../../vault/files/home.ts";
import type { ServiceVault } from "../../vault/lend.ts";
import type { Vault } from "../../vault/vault.ts";

interface Log {
  readonly ledger: Pick<Ledger, "note" | "noteHappened">;
  readonly envelope: Envelope;
}

/** All of them or none: each must be signed by the operator who is logged in, whose key the vault knows. */
export async function recordDecisions(
  { ledger, envelope }: Log,
  keys: readonly OperatorKey[],
  decisions: readonly SignedDecision[],
  login: Login,
): Promise<void> {
  for (const signed of decisions) {
    const { operator, operator_key_id } = signed.statement;
    const own = operator === login.operator && operator_key_id === login.operatorKeyId;
    if (!own || !verifyDecision(signed, keys))
      throw new Denied("signature_invalid", "A decision is not signed by the operator who is logged in.");
  }
  await ledger.note(
    decisions.map(({ statement, signature }) => ({
      ...envelope("upgrade_decided"),
      api: statement.api,
      difference: statement.difference,
      decision: statement.verdict,
      reason: statement.reason,
      narrowing: statement.narrowing,
      by: statement.operator,
      operator_key_id: statement.operator_key_id,
      decided_at: statement.decided_at,
      signature,
    })),
  );
}

/**
 * Noted in the vault's file under its lock, so that a restart does not lend again what was stopped. With `of`, what an operator put
 * in its place meanwhile is left alone.
 */
export async function suspendCredentials(
  { ledger, envelope }: Log,
  home: VaultHome,
  service: ServiceVault,
  asked: {
    readonly labels: readonly string[];
    readonly reason: string;
    readonly wallMs: number;
    readonly of: SecretVersion | null;
  },
  login: Login | null,
): Promise<{ readonly suspended: readonly string[]; readonly vault: Vault }> {
  const { of } = asked;
  let suspended: readonly string[] = [];
  const { vault } = await home.change((current) => {
    service.reload(current);
    suspended = asked.labels.filter(
      (label) => service.find(label) !== null && (of === null || service.exchangeOf(label)?.version === of),
    );
    let next = current;
    for (const label of suspended) next = service.suspend(label, asked.reason, asked.wallMs);
    return { vault: next };
  });
  await ledger.noteHappened(
    suspended.map((label) => ({
      ...envelope("vault_changed"),
      vault_generation: vault.generation,
      vault_hash: vault.manifestHash,
      change: "disabled" as const,
      credential_label: label,
      by: login?.operator ?? null,
    })),
  );
  return { suspended, vault };
}
