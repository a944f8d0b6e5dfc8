import { createHmac, createSecretKey, type KeyObject } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import type { Random } from "../../../kernel/clock.ts";
import { Denied } from "../../../kernel/failure.ts";
import { openRow, sealRow } from "./seal-row.ts";
import { stateTables } from "./state-schema.ts";

/**
 * Which rows there are, in one sealed row that is written with each of them: a counter that only rises, and the sum of a
 * keyed digest of every row. A row put back, taken out or put in from an earlier copy changes the sum; a whole file put
 * back has an earlier counter, and the log knows the later one.
 */
export interface RowMark {
  /** A row is about to be replaced, added (`before` undefined) or taken away (`after` undefined). Inside the transaction. */
  note(table: string, id: string, before: Uint8Array | undefined, after: Uint8Array | undefined): void;
  /** Writes the mark with what was noted. The last step of the transaction. */
  write(): void;
  /** After a transaction that was undone. */
  forget(): void;
  /** How often rows were written, as this process last wrote or read it; null where no mark was ever written. */
  known(): number | null;
  /** Counts the rows that are there, from a generation on. Inside the transaction. */
  recount(from: number): void;
  /** Denied `state_tampered` when the rows are not those that the mark counts. */
  verify(): void;
}

const ID = "rows";
const SUM_BYTES = 32;
const PLACE = { table: "marks", id: ID, runId: "", state: "kept" } as const;

interface Mark {
  readonly generation: number;
  readonly sum: Buffer;
}

export function createRowMark(handle: DatabaseSync, key: KeyObject, random: Random): RowMark {
  const digestKey = createSecretKey(createHmac("sha256", key).update("gw state rows v1").digest());
  const select = handle.prepare("select sealed from marks where id = ?");
  const upsert = handle.prepare(
    `insert into marks (id, run_id, state, sealed) values (?, '', 'kept', ?)
     on conflict (id) do update set sealed = excluded.sealed`,
  );
  /** The mark as this process last wrote or read it, beside its sealed form. */
  let known: { readonly sealed: Buffer; readonly mark: Mark } | null = null;
  let noted: Buffer | null = null;
  let floor = 0;

  /** The nonce and the tag name the very sealing, so the row need not be hashed whole. */
  function digestOf(table: string, id: string, sealed: Uint8Array): Buffer {
    const place = Buffer.from(`${table}\0${id}\0`, "utf8");
    return createHmac("sha256", digestKey)
      .update(place)
      .update(sealed.subarray(0, 12))
      .update(sealed.subarray(-16))
      .digest();
  }

  function read(): Mark | null {
    const found = select.get(ID)?.["sealed"];
    if (!(found instanceof Uint8Array)) return null;
    const sealed = Buffer.from(found);
    if (known?.sealed.equals(sealed) === true) return known.mark;
    const body = openRow(key, PLACE, sealed);
    const [generation, sum] = [body?.["generation"], body?.["sum"]];
    if (typeof generation !== "number" || typeof sum !== "string") throw tampered("its mark does not open");
    known = { sealed, mark: { generation, sum: Buffer.from(sum, "hex") } };
    return known.mark;
  }

  function sumAll(): Buffer {
    const sum = Buffer.alloc(SUM_BYTES);
    for (const table of stateTables) {
      for (const row of handle.prepare(`select id, sealed from ${table}`).iterate()) {
        if (row["sealed"] instanceof Uint8Array) add(sum, digestOf(table, String(row["id"]), row["sealed"]));
      }
    }
    return sum;
  }

  return {
    note(table, id, before, after) {
      // A file of a version without marks is counted when its first row is written.
      noted ??= Buffer.from(read()?.sum ?? sumAll());
      if (before !== undefined) add(noted, digestOf(table, id, before));
      if (after !== undefined) add(noted, digestOf(table, id, after));
    },
    write() {
      if (noted === null) return;
      const mark = { generation: Math.max(floor, known?.mark.generation ?? 0) + 1, sum: noted };
      const sealed = sealRow(key, PLACE, { generation: mark.generation, sum: mark.sum.toString("hex") }, random);
      upsert.run(ID, sealed);
      known = { sealed, mark };
      noted = null;
    },
    forget() {
      known = null;
      noted = null;
    },
    known: () => known?.mark.generation ?? null,
    recount(from) {
      floor = from;
      noted = sumAll();
    },
    verify() {
      const mark = read();
      if (mark !== null && !mark.sum.equals(sumAll())) throw tampered("rows were put back, added or taken away");
    },
  };
}

/** Adding twice takes away again. */
function add(sum: Buffer, digest: Buffer): void {
  for (let at = 0; at < SUM_BYTES; at++) sum[at] = (sum[at] ?? 0) ^ (digest[at] ?? 0);
}

function tampered(why: string): Denied {
  return new Denied(
    "state_tampered",
    `state.db was changed by something other than gw: ${why}. Find out who writes to the home folder; then restore a backup with gw restore FILE, or go on with what is there with gw restore --as-found.`,
  );
}
