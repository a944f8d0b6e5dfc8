import { Denied } from "../../../kernel/failure.ts";
import type { Lender } from "../../../vault/extras.ts";
import type { VaultHome } from "../../../vault/files/home.ts";
import type { HubPolicy } from "../../../vault/policy/policy.ts";

const GROUP = "group:";

/**
 * The gateways that these words name, as signed policy has them now: NAME, or group:NAME for all that joined with it. Undefined where
 * nothing was named.
 */
export function readLenders(home: VaultHome, words: readonly string[] = []): readonly Lender[] | undefined {
  if (words.length === 0) return undefined;
  const { hub } = home.readPolicy(home.readVault());
  const found = new Map(
    words.flatMap((word) => gatewaysOf(hub, word)).map(({ gateway, lendingKey }) => [gateway, lendingKey]),
  );
  return [...found].map(([gateway, key]) => ({ gateway, key }));
}

function gatewaysOf(hub: HubPolicy | null, word: string): HubPolicy["gateways"] {
  if (hub === null) throw new Denied("hub_not_joined", "Which gateways lend a credential is for gateways on a hub.");
  const named = word.startsWith(GROUP)
    ? hub.gateways.filter(({ groups }) => groups.includes(word.slice(GROUP.length)))
    : hub.gateways.filter(({ gateway }) => gateway === word);
  if (named.length > 0) return named;
  const names = hub.gateways.map(({ gateway }) => gateway).join(", ");
  throw new Denied("value_not_allowed", `No gateway on the hub is ${word}. These are: ${names}`);
}
