import type { Pack } from "../../conventions/action/pack.ts";
import { defaults } from "../../kernel/defaults.ts";
import { showIdentifier } from "../../kernel/display.ts";
import { hasPin } from "../../vault/compartment.ts";
import type { Policy } from "../../vault/policy/policy.ts";
import { summariesOf } from "../../vault/summary.ts";
import type { Vault } from "../../vault/vault.ts";
import type { Finding } from "./doctor.ts";
import type { Made } from "./vault/made.ts";

const DAY_MS = 86_400_000;

/** What people do beside calls: their PINs, the copies they keep, and what they will be asked. */
export function examineCare(
  vault: Vault,
  policy: Policy,
  packs: readonly Pack[],
  made: Made,
  wallMs: number,
): readonly Finding[] {
  return [
    pinRow(vault),
    copyRow("backup", made.backup, wallMs, defaults.backupOldMs, "gw backup FILE"),
    copyRow(
      "checkpoint",
      made.checkpoint,
      wallMs,
      defaults.checkpointOldMs,
      "gw audit checkpoint > FILE, kept elsewhere",
    ),
    askedRow(vault, policy, packs, wallMs),
  ];
}

function pinRow({ slots }: Vault): Finding {
  const without = slots.filter(({ compartment }) => !hasPin(compartment)).map(({ name }) => showIdentifier(name));
  if (without.length === 0) return { name: "PIN", state: "ok", detail: "every operator has one", mend: null };
  const detail = `not set for ${without.join(", ")}: gw watch asks the passphrase at each approval instead`;
  return { name: "PIN", state: "warning", detail, mend: "gw operator pin" };
}

/** What somebody else made, or this user on another machine, is not known here. */
function copyRow(name: string, at: string | undefined, wallMs: number, oldMs: number, mend: string): Finding {
  if (at === undefined) return { name, state: "warning", detail: "you have made none from here", mend };
  const age = wallMs - Date.parse(at);
  const days = Math.floor(age / DAY_MS);
  const said = days <= 0 ? "within a day" : days === 1 ? "1 day ago" : `${days} days ago`;
  const detail = `your last one: ${said}, ${at}`;
  return age > oldMs ? { name, state: "warning", detail, mend } : { name, state: "ok", detail, mend: null };
}

/** What an agent that starts now would have to ask a person for. */
function askedRow(vault: Vault, policy: Policy, packs: readonly Pack[], wallMs: number): Finding {
  const now = new Date(wallMs).toISOString();
  const grants = policy.grants.filter(({ until }) => until > now).map(({ name }) => name);
  const labels = summariesOf(vault).flatMap(({ label, eachUse }) => (eachUse ? [label] : []));
  const actions = packs.flatMap((pack) =>
    [...pack.actions.values()].flatMap(({ qualifiedName, needs }) =>
      needs.approval === "each_use" ? [qualifiedName] : [],
    ),
  );
  const name = "asked today";
  const each = [
    ...(labels.length === 0 ? [] : [`each use of ${labels.map(showIdentifier).join(", ")}`]),
    ...(actions.length === 0 ? [] : [`each call of ${actions.map(showIdentifier).join(", ")}`]),
  ];
  const session =
    grants.length === 0
      ? "every session"
      : `every session that no grant covers (${grants.map(showIdentifier).join(", ")})`;
  const gone =
    policy.formerSettings?.session_approval === false
      ? ["session_approval off, which was signed once, counts no more"]
      : [];
  return { name, state: "ok", detail: [session, ...each, ...gone].join("; "), mend: null };
}
