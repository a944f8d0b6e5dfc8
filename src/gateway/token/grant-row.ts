import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import { isJsonObject, type JsonValue } from "../../kernel/json.ts";
import type { SecretVersion } from "../../vault/entry.ts";
import type { StateRow } from "../ports.ts";
import type { TokenNeeds } from "./needs.ts";

/** What must survive us of a credential that is exchanged. The store seals it, like every row. */
export interface KeptGrant {
  readonly label: string;
  /** Of the secret in the vault: what an operator gave since counts more than anything kept. */
  readonly version: SecretVersion;
  /** The newest refresh token, where the provider has replaced the sealed one. */
  readonly refreshToken: string | null;
  /** The turn on the hub that the rest is about, where other gateways use the same refresh token; null where this one is alone. */
  readonly turn: number | null;
  /** An exchange that has begun, and of which nobody has seen the end. */
  readonly pending: { readonly worker: string; readonly bootId: string; readonly bootMs: number } | null;
}

const STATE = "token";

export function readGrant(core: Pick<TokenNeeds, "ledger">, label: string, version: SecretVersion): KeptGrant {
  return readKept(core.ledger.find("notes", idOf(label)), label, version);
}

/** What was kept of a turn on the hub that an earlier life began: what it got, and whether anything may have left in it. */
export function leftOfTurn(
  row: ReturnType<TokenNeeds["ledger"]["find"]>,
  label: string,
  version: SecretVersion,
  generation: number,
): { readonly refreshToken: string | null; readonly maybeUsed: boolean } {
  const { turn, refreshToken, pending } = readKept(row, label, version);
  return turn === generation ? { refreshToken, maybeUsed: pending !== null } : { refreshToken: null, maybeUsed: false };
}

function readKept(row: ReturnType<TokenNeeds["ledger"]["find"]>, label: string, version: SecretVersion): KeptGrant {
  const fresh: KeptGrant = { label, version, refreshToken: null, turn: null, pending: null };
  if (row === null) return fresh;
  if ("tampered" in row)
    throw new Denied("state_tampered", `What is kept of ${label} was changed. Find out who writes to the home folder.`);
  const { version: number, secret, refresh_token: token, turn, pending } = row.body;
  // What an earlier gw wrote has the number alone.
  if (secret === undefined ? number !== Number.parseInt(version, 10) : secret !== version) return fresh;
  const refreshToken = typeof token === "string" ? token : null;
  return { ...fresh, refreshToken, turn: typeof turn === "number" ? turn : null, pending: readPending(pending) };
}

function readPending(value: JsonValue | undefined): KeptGrant["pending"] {
  if (!isJsonObject(value)) return null;
  const { worker, boot_id: bootId, boot_ms: bootMs } = value;
  if (typeof worker !== "string" || typeof bootId !== "string" || typeof bootMs !== "number") return null;
  return { worker, bootId, bootMs };
}

/** Written only while no other gateway on this store is in the middle of an exchange: a refresh token is used once. */
export function grantRow(
  core: Pick<TokenNeeds, "ports" | "worker">,
  { label, version, refreshToken, turn, pending }: KeptGrant,
): StateRow {
  return {
    table: "notes",
    id: idOf(label),
    runId: "",
    state: STATE,
    body: {
      version: Number.parseInt(version, 10),
      secret: version,
      ...(refreshToken === null ? {} : { refresh_token: refreshToken }),
      ...(turn === null ? {} : { turn }),
      pending: pending === null ? null : { worker: pending.worker, boot_id: pending.bootId, boot_ms: pending.bootMs },
    },
    unordered: true,
    onlyIf: (stored) => stored === null || !isElsewhere(core, readPending(stored.body["pending"])),
  };
}

/** Whether another gateway that may still be alive has begun one. */
export function isElsewhere(
  { worker, ports: { clock } }: Pick<TokenNeeds, "ports" | "worker">,
  pending: KeptGrant["pending"],
): boolean {
  if (pending === null || pending.worker === worker || pending.bootId !== clock.bootId()) return false;
  return clock.bootMs() - pending.bootMs < 2 * defaults.tokenExchangeMs;
}

function idOf(label: string): string {
  return `${STATE} ${label}`;
}
