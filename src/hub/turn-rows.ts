import type { KeyObject } from "node:crypto";
import { canonicalJson, digestBytes, digestText } from "../kernel/canonical-json.ts";
import { isoTime } from "../kernel/clock.ts";
import { defaults } from "../kernel/defaults.ts";
import { readHubStatement, signHubWith, type TurnStatement } from "./statement.ts";

/** A secret of the vault as an operator gave it: a credential that was added anew under an old label is another one. */
export interface SecretName {
  readonly addedAt: string;
  readonly version: number;
}

/** The last word about the refresh token of a credential. */
export interface Turn extends Pick<TurnStatement, "generation" | "gateway" | "state" | "cut"> {
  readonly of: SecretName;
  /** Of the whole word: two of one generation are two histories. */
  readonly digest: string;
  readonly sealed: Buffer;
}

export interface TurnRow {
  readonly generation: string;
  readonly statement: string;
  readonly signature: Buffer;
  readonly sealed: Buffer;
}

/** Where a word stands: it counts nowhere else. */
export interface TurnPlace {
  readonly hubId: string;
  readonly vaultId: string;
  readonly place: string;
}

/** Undefined for what no gateway that may lend the credential signed for this place, or not with these bytes. `speakerOf` says whose key that would be. */
export function readTurn(
  row: TurnRow,
  { hubId, vaultId, place }: TurnPlace,
  speakerOf: (gateway: string) => Buffer | null,
  known: string | null,
  isTold: (of: SecretName) => boolean,
): Turn | undefined {
  const { statement: text, signature, sealed } = row;
  const said = peek(text);
  const key = said === undefined ? null : speakerOf(said.gateway);
  const digest = digestText(text);
  const format = "gw.hub-turn/v1";
  // One that was checked before stays true when whoever said it has left since.
  const signed =
    key === null
      ? digest === known
        ? said
        : undefined
      : readHubStatement<TurnStatement>({ text, signature }, format, key);
  if (signed?.format !== format || signed.hub_id !== hubId || signed.vault_id !== vaultId) return undefined;
  if (signed.place !== place || String(signed.generation) !== row.generation) return undefined;
  // What nobody could count on from is no gateway's word, whoever signed it.
  if (!isGeneration(signed.generation)) return undefined;
  if (digestBytes(sealed) !== signed.sealed_digest) return undefined;
  const { generation, gateway, state, cut, added_at: addedAt, version } = signed;
  const of = { addedAt, version };
  return isTold(of) ? { generation, gateway, state, cut, of, digest, sealed } : undefined;
}

/**
 * Whether a secret may have been added by now, beside the one that our vault has: a gateway that may lend it, or might once, would
 * else name one of years to come, and every other that an operator gives would be an earlier one.
 */
export function isAddedBy(nowMs: number, ours: SecretName): (of: SecretName) => boolean {
  // The vault's own time is an operator's word, whatever our clock shows.
  const latestMs = Math.max(Date.parse(ours.addedAt), nowMs) + defaults.hubClockMs;
  return ({ addedAt, version }) => {
    if (!isGeneration(version)) return false;
    if (addedAt === ours.addedAt) return true;
    const ms = typeof addedAt === "string" ? Date.parse(addedAt) : Number.NaN;
    // Compared as texts, so that each time has one.
    return ms <= latestMs && isoTime(ms) === addedAt;
  };
}

export function signTurn(
  { hubId, vaultId, place }: TurnPlace,
  { generation, gateway, state, cut, of, sealed }: Omit<Turn, "digest">,
  key: KeyObject,
): { readonly text: string; readonly signature: Buffer; readonly turn: Turn } {
  const statement: TurnStatement = {
    format: "gw.hub-turn/v1",
    ...{ hub_id: hubId, vault_id: vaultId, place, generation, gateway, state, cut },
    ...{ added_at: of.addedAt, version: of.version, sealed_digest: digestBytes(sealed) },
  };
  const { text, signature } = signHubWith(statement, key);
  return { text, signature, turn: { generation, gateway, state, cut, of, digest: digestText(text), sealed } };
}

/** One that a gateway comes to by counting, and that another one follows. */
export function isGeneration(number: number): boolean {
  return Number.isSafeInteger(number) && number > 0 && number < Number.MAX_SAFE_INTEGER;
}

/** What a refresh token is sealed for: this credential and this word alone. */
export function turnAbout({ hubId, vaultId, place }: TurnPlace, generation: number): string {
  return canonicalJson({ format: "gw.hub-turn-token/v1", hub_id: hubId, vault_id: vaultId, place, generation });
}

/** Below zero where the first is of an earlier secret of the label, 0 where both are of one. */
export function compareSecrets(one: SecretName, other: SecretName): number {
  if (one.addedAt !== other.addedAt) return one.addedAt < other.addedAt ? -1 : 1;
  return one.version - other.version;
}

function peek(text: string): TurnStatement | undefined {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === "object" && value !== null && typeof (value as TurnStatement).gateway === "string"
      ? (value as TurnStatement)
      : undefined;
  } catch {
    return undefined;
  }
}
