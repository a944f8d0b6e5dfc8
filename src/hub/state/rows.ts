import { createHash } from "node:crypto";
import { isNestedWithin } from "../../../packages/request/src/json/depth.ts";
import { canonicalJson } from "../../kernel/canonical-json.ts";
import { defaults } from "../../kernel/defaults.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../kernel/json.ts";
import type { LimitSeal } from "../limit-rows.ts";

/** A row of a gateway's state as another gateway would need it. */
export interface SharedRow {
  readonly table: string;
  readonly id: string;
  readonly runId: string;
  readonly state: string;
  readonly body: JsonObject;
}

/** Whose row it is: it opens nowhere else. */
export interface StatePlace {
  readonly hubId: string;
  readonly vaultId: string;
  readonly gateway: string;
  readonly term: number;
}

export interface SealedRow {
  readonly place: string;
  readonly tick: number;
  readonly sealed: Buffer;
}

/** Tells the database nothing of what is kept there. */
export function placeOf(seal: LimitSeal, { table, id }: Pick<SharedRow, "table" | "id">): string {
  return seal.hide(`state ${table} ${id}`);
}

export function sealShared(seal: LimitSeal, at: StatePlace, tick: number, row: SharedRow, place: string): SealedRow {
  const { table, id, runId, state, body } = row;
  const plain = Buffer.from(canonicalJson({ table, id, run_id: runId, state, body }), "utf8");
  return { place, tick, sealed: seal.seal(aboutOf(at, tick, place), plain) };
}

/** Undefined for what was not sealed for exactly this place, term and word, and for what is no row. */
export function openShared(seal: LimitSeal, at: StatePlace, { place, tick, sealed }: SealedRow): SharedRow | undefined {
  const plain = seal.open(aboutOf(at, tick, place), sealed);
  const { table, id, run_id: runId, state, body } = plain === undefined ? {} : readObject(plain.toString("utf8"));
  if (typeof table !== "string" || typeof id !== "string") return undefined;
  if (typeof runId !== "string" || typeof state !== "string" || !isJsonObject(body)) return undefined;
  return placeOf(seal, { table, id }) === place ? { table, id, runId, state, body } : undefined;
}

/** Empty for what is none. Arguments stand a few members down in a row; what is nested without end could not be written again. */
function readObject(text: string): JsonObject {
  if (!isNestedWithin(text, defaults.jsonDepth * 2)) return {};
  try {
    const value = JSON.parse(text) as JsonValue;
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}

const SUM_BYTES = 32;

/** Of one row as it stands on the hub, keyed: whoever keeps the rows cannot work it out. */
export function markOf(seal: LimitSeal, { place, tick, sealed }: SealedRow): Buffer {
  const content = createHash("sha256").update(sealed).digest("hex");
  return Buffer.from(seal.hide(`row ${place} ${tick} ${content}`), "hex");
}

/**
 * Which rows there are: one that is put back, taken out or left in changes the sum. Adding twice takes away again. The sum is keyed
 * as its marks are, so that nobody finds out which of the old rows would add up to the same.
 */
export function addMark(sum: Buffer, mark: Buffer): void {
  for (let at = 0; at < SUM_BYTES; at++) sum[at] = (sum[at] ?? 0) ^ (mark[at] ?? 0);
}

export function emptySum(): Buffer {
  return Buffer.alloc(SUM_BYTES);
}

export function sumText(seal: LimitSeal, sum: Buffer): string {
  return seal.hide(`sum ${sum.toString("hex")}`);
}

/** What the database asks of whoever takes a term over: it knows the digest alone, and other vaults on the hub know neither. */
export function takingProof(seal: LimitSeal, { hubId, vaultId, gateway, term }: StatePlace): Buffer {
  return Buffer.from(seal.hide(`taking ${hubId} ${vaultId} ${gateway} ${term}`), "hex");
}

export function digestOfProof(proof: Buffer): Buffer {
  return createHash("sha256").update(proof).digest();
}

function aboutOf({ hubId, vaultId, gateway, term }: StatePlace, tick: number, place: string): string {
  return `gw hub state v1 ${hubId} ${vaultId} ${gateway} ${term} ${tick} ${place}`;
}
