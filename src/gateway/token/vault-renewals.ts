import { defaults } from "../../kernel/defaults.ts";
import { isJsonObject } from "../../kernel/json.ts";
import type { SecretVersion } from "../../vault/entry.ts";
import type { VaultSource } from "../../vault/source/remote.ts";
import type { Asking, askStore } from "./ask-store.ts";

type Answer = Awaited<ReturnType<typeof askStore>>;

/** Tokens of Vault that an operator gave: renewed while calls need them, after the unlock and then from half of what Vault grants on. Nobody here ends them. */
export function createRenewals() {
  const next = new Map<string, { readonly version: SecretVersion; readonly bootMs: number }>();
  return {
    async renew({ core, label, version }: Asking<VaultSource>, ask: () => Promise<Answer>): Promise<void> {
      const { clock } = core.ports;
      const due = next.get(label);
      if (due?.version === version && clock.bootMs() < due.bootMs) return;
      const waitMs = waitAfter(await ask());
      if (core.credentials() !== null) next.set(label, { version, bootMs: clock.bootMs() + waitMs });
    },
    forget: (label: string): void => void next.delete(label),
    labels: (): Iterable<string> => next.keys(),
  };
}

/** What Vault will not renew is not asked for again; a Vault that did not answer is, after a while. */
function waitAfter(answer: Answer): number {
  if (answer.kind === "failed") {
    const refused = answer.status !== null && answer.status >= 400 && answer.status < 500;
    return refused ? Infinity : defaults.sourceRenewMs;
  }
  const { auth } = answer.body;
  const { lease_duration: seconds, renewable } = isJsonObject(auth) ? auth : {};
  if (renewable !== true || typeof seconds !== "number" || !(seconds > 0)) return Infinity;
  return Math.max(Math.min(seconds, MOST_S) * 500, LEAST_MS);
}

const MOST_S = 86_400;
const LEAST_MS = 1_000;
