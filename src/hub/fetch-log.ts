import { appendFileSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { CUT_NAME } from "../audit/cut/cut.ts";
import { MAX_BODY_BYTES, segmentName } from "../audit/frame/layout.ts";
import { digestBytes } from "../kernel/canonical-json.ts";
import type { HubConnection } from "./connect.ts";
import type { FleetFinding } from "./findings.ts";
import { HUB_SCHEMA, shortBytes, shortText } from "./schema.ts";
import type { Speaker } from "./speaker.ts";
import { type GivenText, type HeadStatement, readHubStatement } from "./statement.ts";

interface ChunkRow {
  readonly segment: string;
  readonly at_offset: string;
  readonly bytes: Buffer;
  readonly statement: string;
  readonly signature: Buffer;
}

/** A torn end and a frame are never larger; what is longer than any part of ours ends there, and does not fit its digest. */
const MOST_BYTES = 2 * MAX_BODY_BYTES;
const ROWS_A_LOOK = 4;

/**
 * Writes a gateway's log, as the hub has it, into an empty folder, or what came since the head that a folder was fetched to: every row signed by that gateway for the place where it stands,
 * each where the one before ended, up to the head. The first that is not ends it. Whether the log holds is for its own verifier.
 */
export async function fetchLog(
  connection: HubConnection,
  speaker: Speaker,
  head: HeadStatement,
  folder: string,
  since: HeadStatement | null = null,
  roomBytes: number = roomIn(folder),
): Promise<FleetFinding | null> {
  const begin: readonly [string, string] =
    since === null ? ["-1", "-1"] : [String(since.segment), String(since.offset - 1)];
  // The table's key forbids it, and its owner can take the key away.
  const [twice] = await connection.ask<ChunkRow>(
    `select segment, at_offset from ${HUB_SCHEMA}.log_chunk where gateway = $1 and (segment, at_offset) > ($2::bigint, $3::bigint) group by 1, 2 having count(*) > 1 limit 1`,
    [speaker.gateway, ...begin],
  );
  if (twice !== undefined) return { code: "chunk_forked", detail: placeOf(twice) };
  let last = since;
  let leftBytes = roomBytes;
  for (let after = begin; ; ) {
    // By the place in the log, which no administrator chooses, and never by the order in which rows came.
    const rows = await connection.ask<ChunkRow>(
      `select segment, at_offset, substring(bytes from 1 for ${MOST_BYTES}) as bytes, ${shortText("statement")}, ${shortBytes("signature")}
         from ${HUB_SCHEMA}.log_chunk where gateway = $1 and (segment, at_offset) > ($2::bigint, $3::bigint)
        order by segment, at_offset limit ${ROWS_A_LOOK}`,
      [speaker.gateway, ...after],
    );
    for (const row of rows) {
      const signed = readChunk(row, speaker);
      if (signed === undefined) return { code: "chunk_invalid", detail: placeOf(row) };
      const fit = fits(last, row);
      if (fit !== "next") return { code: fit, detail: placeOf(row) };
      if (last !== null && signed.tick <= last.tick) return { code: "chunk_invalid", detail: placeOf(row) };
      if (isBefore(head, signed)) return { code: "head_behind", detail: placeOf(row) };
      leftBytes -= row.bytes.length;
      if (leftBytes < 0) return { code: "no_room", detail: placeOf(row) };
      appendFileSync(join(folder, signed.segment === 0 ? CUT_NAME : segmentName(signed.segment)), row.bytes, {
        mode: 0o600,
      });
      last = signed;
    }
    const end = rows.at(-1);
    if (end === undefined) break;
    after = [end.segment, end.at_offset];
  }
  const whole =
    last !== null && last.segment === head.segment && last.offset === head.offset && last.link === head.link;
  return whole ? null : { code: "head_ahead", detail: `signed up to frame ${head.next_frame - 1}` };
}

/** A gateway may be owned by somebody, and its log have no end: half of what is free here is left to everybody else. */
function roomIn(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return (bavail * bsize) / 2;
}

function readChunk(row: ChunkRow, speaker: Speaker): HeadStatement | undefined {
  const signed = readHead({ text: row.statement, signature: row.signature }, speaker);
  const { part } = signed ?? { part: null };
  if (signed === undefined || part === null) return undefined;
  const here = String(signed.segment) === row.segment && String(part.offset) === row.at_offset;
  const fit = here && part.offset + row.bytes.length === signed.offset && digestBytes(row.bytes) === part.digest;
  return fit ? signed : undefined;
}

export function readHead(given: GivenText, speaker: Speaker): HeadStatement | undefined {
  const head = readPeerHead(given, speaker);
  return head?.log_id === speaker.logId ? head : undefined;
}

/** Of whichever log it is: signed policy names a peer's key, and not its log. */
export function readPeerHead(
  given: GivenText,
  { hubId, gateway, identityKey }: Pick<Speaker, "hubId" | "gateway" | "identityKey">,
): HeadStatement | undefined {
  const head = readHubStatement<HeadStatement>(given, "gw.hub-head/v1", identityKey);
  if (head?.hub_id !== hubId || head.gateway !== gateway) return undefined;
  // A gateway may be owned by somebody else, who signs whatever they like: its numbers become names of files here.
  const { tick, segment, offset, frame_end, next_frame, part, knows, link, written_at } = head;
  const numbers = [
    ...[tick, segment, offset, frame_end, next_frame],
    ...(part === null ? [] : [part?.offset]),
    ...(knows === undefined ? [] : [knows?.vault, knows?.policy]),
  ];
  const counted = numbers.every((one) => Number.isSafeInteger(one) && one >= 0);
  return counted && typeof link === "string" && typeof written_at === "string" ? head : undefined;
}

/** A log goes up from its cut or its first segment, without a gap, and each segment from its first byte. */
function fits(last: HeadStatement | null, row: ChunkRow): "next" | "chunk_missing" | "chunk_forked" {
  const [segment, offset] = [Number(row.segment), Number(row.at_offset)];
  if (last === null) return offset === 0 && segment <= 1 ? "next" : "chunk_missing";
  if (segment === last.segment) {
    if (offset === last.offset) return "next";
    return offset < last.offset ? "chunk_forked" : "chunk_missing";
  }
  // After a cut the first segment has whatever number the cut says, which the verifier of the log looks at.
  return offset === 0 && (segment === last.segment + 1 || last.segment === 0) ? "next" : "chunk_missing";
}

function isBefore(head: HeadStatement, one: HeadStatement): boolean {
  return (
    head.tick < one.tick || head.segment < one.segment || (head.segment === one.segment && head.offset < one.offset)
  );
}

function placeOf({ segment, at_offset: offset }: Pick<ChunkRow, "segment" | "at_offset">): string {
  return `segment ${segment}, byte ${offset}`;
}
