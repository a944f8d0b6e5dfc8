import type { ActionDefinition, InputField, Pack } from "../../conventions/action/pack.ts";
import type { PackPlace } from "../../conventions/action/place.ts";
import { comparePacks } from "../../conventions/upgrade/pack/compare-packs.ts";
import { showIdentifier, showText } from "../../kernel/display.ts";
import { Denied } from "../../kernel/failure.ts";
import { openHome } from "../../vault/files/home.ts";
import type { Policy } from "../../vault/policy/policy.ts";
import { summariesOf } from "../../vault/summary.ts";
import type { Vault } from "../../vault/vault.ts";
import { answering } from "./answer.ts";
import { type CliIo, type Exit, exits } from "./io.ts";
import { labelsOf, packState, readHomePack } from "./packs.ts";
import { loadChange } from "./upgrade/load-change.ts";
import type { VaultCliPorts, VaultOptions } from "./vault/session.ts";

/** `gw pack show NAME [ACTION]`: what it may reach and with which credential, as the file in the home says it. */
export function runPackShow(
  name: string,
  action: string | undefined,
  options: VaultOptions,
  io: CliIo,
  ports: VaultCliPorts,
): Promise<Exit> {
  return answering(io, () => {
    const home = openHome(options.home, ports.random);
    const vault = home.readVault();
    const policy = home.readPolicy(vault);
    const { pack, bytes } = readHomePack(options.home, name);
    const found = action === undefined ? null : requireAction(pack, action);
    if (options.json)
      io.out(JSON.stringify(found === null ? packRecord(pack, vault, policy) : actionRecord(found), null, 2));
    else if (found !== null) for (const line of actionLines(found)) io.out(line);
    else {
      for (const line of packLines(pack, vault, policy)) io.out(line);
      for (const line of changeLines(options.home, pack, bytes, policy)) io.out(line);
    }
    return exits.done;
  });
}

interface PackChanges {
  /** The trusted pack that it is compared with: its own earlier version, or another for the same place. */
  readonly of: string;
  readonly rows: readonly string[];
}

/** What differs from what is trusted, one sentence a change; null where nothing was trusted or nothing differs. */
export function packChanges(home: string, pack: Pack, bytes: Uint8Array, policy: Policy): PackChanges | null {
  const change = loadChange(home, pack, bytes, policy);
  if (change === null) return null;
  const { before: trusted, of } = change;
  const rows = comparePacks(trusted, pack, of).map(({ draft: { subject, at, says, before, after, change: how } }) => {
    const place = showText(`${subject} ${at}`.trim());
    const values = before === null || after === null ? "" : ` ${showText(before)} -> ${showText(after)}`;
    return `${how === "widens" ? "WIDENS " : ""}${place}: ${showText(says)}${values}`;
  });
  return { of, rows: rows.length === 0 ? ["nothing that decides anything: words and order alone"] : rows };
}

function changeLines(home: string, pack: Pack, bytes: Uint8Array, policy: Policy): readonly string[] {
  const changes = packChanges(home, pack, bytes, policy);
  if (changes === null) return [];
  const { of, rows } = changes;
  const against = of === pack.name ? "the trusted version" : `${of}, another pack for the same place`;
  return [`Against ${against}:`, ...rows.map((row) => `  ${row}`)];
}

/** The same for a home that is read when it is needed. */
export function tellChangesOf(home: string, ports: Pick<VaultCliPorts, "random">) {
  return (pack: Pack, bytes: Buffer): readonly string[] => {
    const opened = openHome(home, ports.random);
    return changeLines(home, pack, bytes, opened.readPolicy(opened.readVault()));
  };
}

function packLines(pack: Pack, vault: Vault, policy: Policy): readonly string[] {
  const { provider } = pack;
  const place = placeOf(policy, pack);
  return [
    `${pack.name}  ${packState(policy, pack)}  ${pack.digest}`,
    ...(pack.description === null ? [] : [`  ${showText(pack.description)}`]),
    ...(provider === null ? [] : [`  reaches      ${provider.origin} (${provider.network})`]),
    ...(place === null
      ? []
      : [`  reached at   ${place.origin}${place.basePath} (${place.network}): signed here with gw pack place`]),
    ...[...new Set(labelsOf(pack))].map((label) => `  credential   ${credentialWords(vault, label)}`),
    ...[...pack.actions.values()].map(
      (action) => `  ${action.effect.padEnd(8)}  ${action.qualifiedName}  ${requestWords(action)}`,
    ),
    `One of them whole: gw pack show ${pack.name} ${[...pack.actions.keys()][0] ?? "ACTION"}`,
  ];
}

/** Which one is missing is said where a person decides about the pack. */
function credentialWords(vault: Vault, label: string): string {
  const held = summariesOf(vault).find((one) => one.label === label);
  return held === undefined
    ? `${showIdentifier(label)}: NOT IN THE VAULT (gw credential add ${label} --kind …)`
    : `${showIdentifier(label)}, ${held.kind}`;
}

function actionLines(action: ActionDefinition): readonly string[] {
  const { needs, maxCostCents } = action;
  const asks = [
    ...(needs.approval === "each_use" ? ["a person on every call"] : []),
    ...(needs.plan === null ? [] : [`a plan by ${needs.plan}`]),
    ...(needs.ticket ? ["a ticket"] : []),
  ];
  return [
    `${action.qualifiedName}  ${action.effect}  ${requestWords(action)}`,
    ...(action.description === null ? [] : [`  ${showText(action.description)}`]),
    ...action.inputs.map((input) => `  ${inputWords(input)}`),
    ...(asks.length === 0 ? [] : [`  needs ${asks.join(", ")}`]),
    ...(maxCostCents === null ? [] : [`  costs at most ${maxCostCents} cents`]),
    ...(action.confirm === null ? [] : [`  confirmed by ${action.confirm}`]),
  ];
}

function inputWords({ name, place, wireName, optional, constant, schema }: InputField): string {
  const type = Array.isArray(schema.enum)
    ? `one of ${schema.enum.map(String).join(", ")}`
    : String(schema.type ?? "any");
  const where = place === null ? "" : `, in the ${place}${wireName === name ? "" : ` as ${wireName}`}`;
  const fixed = constant === undefined ? "" : `, always ${JSON.stringify(constant)}`;
  return showText(`${name}: ${type}${where}${optional ? ", may be left out" : ""}${fixed}`);
}

function requestWords(action: ActionDefinition): string {
  switch (action.kind) {
    case "http":
      return showText(`${action.method} ${action.template.text}`);
    case "url":
      return showText(
        `${action.method} ${action.allow.map(({ origin, pathPrefix }) => origin + pathPrefix).join(" ")}`,
      );
    case "ssh":
      return showText(`ssh ${action.user}@${action.host}:${action.port} ${action.action}`);
  }
}

export function packRecord(pack: Pack, vault: Vault, policy: Policy) {
  const held = new Set(summariesOf(vault).map(({ label }) => label));
  const labels = [...new Set(labelsOf(pack))];
  return {
    pack: pack.name,
    digest: pack.digest,
    origin: pack.provider?.origin ?? null,
    place: placeOf(policy, pack),
    credentials: labels.map((label) => ({ label, held: held.has(label) })),
    actions: [...pack.actions.values()].map(actionRecord),
  };
}

function placeOf(policy: Policy, { name }: Pack): PackPlace | null {
  return policy.places.find(({ pack }) => pack === name) ?? null;
}

function actionRecord(action: ActionDefinition) {
  return { action: action.qualifiedName, effect: action.effect, request: requestWords(action), input: action.schema };
}

function requireAction(pack: Pack, name: string): ActionDefinition {
  const found = pack.actions.get(name.startsWith(`${pack.name}.`) ? name.slice(pack.name.length + 1) : name);
  if (found !== undefined) return found;
  throw new Denied("not_found", `${pack.name} has no action ${showIdentifier(name)}. See: gw pack show ${pack.name}`);
}
