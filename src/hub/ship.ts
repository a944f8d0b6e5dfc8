import type { KeyObject } from "node:crypto";
import { rawPublicOf } from "../audit/keys/raw.ts";
import type { Head } from "../audit/receipt.ts";
import { digestBytes } from "../kernel/canonical-json.ts";
import { type Clock, isoTime, type Sleep, Waker } from "../kernel/clock.ts";
import { defaults } from "../kernel/defaults.ts";
import { Denied } from "../kernel/failure.ts";
import type { HubConnection } from "./connect.ts";
import { isFinal, keepConnected, troubleOf } from "./keep-connected.ts";
import { HUB_SCHEMA, shortBytes, shortText } from "./schema.ts";
import { eachGateway } from "./speaker.ts";
import { type HeadStatement, readHubStatement, signHubWith } from "./statement.ts";
import { judgePast, logGone, NOWHERE, type Part, type Reached, takePart } from "./take-part.ts";

/** What this host remembers of the hub, so that it knows one that was put back. */
export interface RememberedTick {
  readonly tick: number;
  readonly link: string;
}

export interface ShipperParts {
  readonly folder: string;
  readonly log: { readonly logId: string; head(): Head };
  readonly hubId: string;
  readonly vaultId: string;
  readonly gateway: string;
  readonly identity: KeyObject;
  readonly clock: Clock;
  readonly sleep: Sleep;
  readonly remembered: RememberedTick | null;
  /** The signed files in force here. */
  knows(): NonNullable<HeadStatement["knows"]>;
  connect(): Promise<HubConnection>;
  remember(tick: RememberedTick): Promise<void>;
  /** Called when it turns from well to not well, and with every other kind of not well. */
  onTrouble(trouble: Denied): void;
}

export interface ShipperStatus {
  /** How long the last word to the hub took; null while it does not answer. */
  readonly reachableMs: number | null;
  readonly tick: number;
  readonly behind: number;
  /** Who was on the hub at the last beat, and for how long each had said nothing. */
  readonly fleet: readonly { readonly gateway: string; readonly ofVault: boolean; readonly seconds: number }[];
  readonly trouble: Denied | null;
}

export interface Shipper {
  /** Something new may be in the log. */
  wake(): void;
  /** True once the frame is on the hub; false once it is known that it does not get there now. It is sent at once. */
  reach(frame: number): Promise<boolean>;
  /** For how long the hub has said nothing; null before its first word. */
  silentMs(): number | null;
  status(): ShipperStatus;
  /** Everything that is in the log now, as far as that succeeds in time; then it ends, and at once without any. */
  finish(withinMs: number): Promise<void>;
}

/** The head moves from the tick before and from no other: two writers of one gateway never both go on. */
const PUT = `with head as (
  update ${HUB_SCHEMA}.log_head set tick = $2, seen_at = clock_timestamp(), statement = $3, signature = $4
   where gateway = $1 and tick = $2::bigint - 1 returning 1
), chunk as (
  insert into ${HUB_SCHEMA}.log_chunk (gateway, segment, at_offset, bytes, statement, signature)
  select $1, $5::bigint, $6::bigint, $7::bytea, $3, $4 where $7::bytea is not null and exists (select from head)
)
select exists (select from head) as moved`;

/** Which vault it is of is what its row says: it counts for a number that people see, and for nothing else. */
const FLEET = eachGateway(
  `g.name, g.name as gateway, position('"vault_id":"' || $1::text || '"' in g.enrolment) > 0 as "ofVault", extract(epoch from clock_timestamp() - h.seen_at)::float8 as seconds`,
  `join ${HUB_SCHEMA}.log_head h on h.gateway = g.name where g.leave is null`,
);

/** Carries a log's own frames to the hub, behind the gateway's back: whatever happens here, nobody local waits for it. */
export function startShipper(parts: ShipperParts): Shipper {
  const { folder, log, gateway, clock, sleep } = parts;
  const publicKey = rawPublicOf("ed25519", parts.identity);
  let known: RememberedTick = parts.remembered ?? { tick: 0, link: NOWHERE.link };
  let at: Reached = NOWHERE;
  let trouble: Denied | null = null;
  let reachableMs: number | null = null;
  let fleet: ShipperStatus["fleet"] = [];
  let rememberedMs = Number.NEGATIVE_INFINITY;
  let finishing = false;
  let stopped = false;
  let over = false;
  let current: HubConnection | null = null;
  let woken = new Waker();
  let hurried = new Waker();
  let heardMs: number | null = null;
  let waiting: { readonly frame: number; tell(there: boolean): void }[] = [];

  const tellReached = (): void => {
    for (const { tell } of waiting.filter(({ frame }) => frame < at.nextFrame)) tell(true);
    waiting = waiting.filter(({ frame }) => frame >= at.nextFrame);
  };
  const tellAway = (): void => {
    for (const { tell } of waiting) tell(false);
    waiting = [];
  };

  const rest = async (ms: number): Promise<void> => {
    if (!finishing) await sleep.sleep(ms, woken);
    woken = new Waker();
  };

  /** Where the hub is. Less than we wrote, or anything that we did not write, is never built upon. */
  async function agree(connection: HubConnection): Promise<void> {
    await connection.ask(`insert into ${HUB_SCHEMA}.log_head (gateway, tick) values ($1, 0) on conflict do nothing`, [
      gateway,
    ]);
    const [row] = await connection.ask<{ tick: string; statement: string | null; signature: Buffer | null }>(
      `select tick, ${shortText("statement")}, ${shortBytes("signature")} from ${HUB_SCHEMA}.log_head where gateway = $1`,
      [gateway],
    );
    const tick = Number(row?.tick ?? 0);
    if (tick < known.tick) {
      throw new Denied(
        "hub_rolled_back",
        `The hub shows tick ${tick} of this gateway, which had written tick ${known.tick}. Nothing more goes there. Find out what happened to the database; then sign that you know: gw hub join URL, with the same name.`,
      );
    }
    if (tick === 0) return;
    const head = readHubStatement<HeadStatement>(
      { text: row?.statement ?? "", signature: row?.signature ?? Buffer.alloc(0) },
      "gw.hub-head/v1",
      publicKey,
    );
    const ours =
      head?.hub_id === parts.hubId && head.gateway === gateway && head.log_id === log.logId && head.tick === tick;
    if (head === undefined || !ours || (tick === known.tick && head.link !== known.link && known.tick > 0))
      throw forked();
    const reached = reachedOf(head);
    // Ahead of what we remember is a word of ours whose answer was lost, if it is about this very log.
    const past = judgePast(folder, reached);
    if (past === "gone") throw logGone(reached.segment);
    if (past === "foreign") throw forked();
    at = reached;
    known = { tick, link: head.link };
    tellReached();
  }

  async function put(connection: HubConnection, part: Part | null): Promise<void> {
    const reached = part?.reached ?? at;
    const tick = known.tick + 1;
    const statement: HeadStatement = {
      format: "gw.hub-head/v1",
      hub_id: parts.hubId,
      gateway,
      log_id: log.logId,
      tick,
      segment: reached.segment,
      offset: reached.offset,
      frame_end: reached.frameEnd,
      next_frame: reached.nextFrame,
      link: reached.link,
      part: part === null ? null : { offset: part.offset, digest: digestBytes(part.bytes) },
      knows: parts.knows(),
      written_at: isoTime(clock.wallMs()),
    };
    const { text, signature } = signHubWith(statement, parts.identity);
    const before = clock.bootMs();
    const values = [gateway, tick, text, signature, reached.segment, part?.offset ?? 0, part?.bytes ?? null];
    const [row] = await connection.ask<{ moved: boolean }>(PUT, values, "log");
    if (row?.moved !== true) {
      // Our own word of a moment ago, whose answer was lost, or somebody else's: the next look says which.
      await agree(connection);
      if (known.tick >= tick) return;
      throw new Denied("hub_refused", `The database does not let this login write for the gateway ${gateway}.`);
    }
    // An answer may have lain in its socket while this machine slept: all that it proves is that the hub heard us no earlier than we asked.
    heardMs = before;
    reachableMs = clock.bootMs() - before;
    at = reached;
    known = { tick, link: reached.link };
    tellReached();
    // Whoever joins anew remembers for themselves.
    if (stopped) return;
    if (clock.bootMs() - rememberedMs < defaults.hubRememberMs) return;
    rememberedMs = clock.bootMs();
    await parts.remember(known);
  }

  async function work(connection: HubConnection, works: () => void, requireLive: () => void): Promise<void> {
    current = connection;
    await agree(connection);
    for (let beatMs = Number.NEGATIVE_INFINITY; !stopped; ) {
      // Known before there is something to say: whoever is let through until then would be refused a moment later.
      requireLive();
      const part = takePart(folder, at, log.head(), defaults.hubPartBytes);
      const nowMs = clock.bootMs();
      if (part !== null || nowMs - beatMs >= defaults.hubBeatMs) await put(connection, part);
      trouble = null;
      works();
      if (nowMs - beatMs >= defaults.hubBeatMs) {
        fleet = await connection.ask<(typeof fleet)[number]>(FLEET, [parts.vaultId]);
        beatMs = nowMs;
      }
      if (part !== null && part.bytes.length >= defaults.hubPartBytes / 2) continue;
      if (finishing && part === null) return;
      await rest(defaults.hubBeatMs / 5);
      // Whoever woke us is rarely alone, and somebody who waits is worth hurrying for.
      if (!finishing) await sleep.sleep(defaults.hubGatherMs, hurried);
      hurried = new Waker();
    }
  }

  const hurry = (): void => {
    hurried.wake();
    woken.wake();
  };

  const ended = keepConnected(parts, {
    work,
    // Nothing is worth gathering for a connection that is gone: until that is known, calls are let through to be refused.
    wake: hurry,
    failed(error) {
      if (stopped) return;
      reachableMs = null;
      const next = troubleOf(error);
      if (trouble?.code !== next.code) parts.onTrouble(next);
      trouble = next;
      tellAway();
    },
    isOver: () => finishing || isFinal(trouble),
  }).finally(() => {
    over = true;
    tellAway();
  });

  return {
    wake: () => woken.wake(),
    reach(frame) {
      if (frame < at.nextFrame) return Promise.resolve(true);
      if (over || trouble !== null) return Promise.resolve(false);
      return new Promise((tell) => {
        waiting.push({ frame, tell });
        hurry();
      });
    },
    silentMs: () => (heardMs === null ? null : clock.bootMs() - heardMs),
    status: () => ({
      reachableMs,
      tick: known.tick,
      behind: Math.max(0, log.head().frame + 1 - at.nextFrame),
      fleet,
      trouble,
    }),
    async finish(withinMs) {
      finishing = true;
      stopped = withinMs === 0;
      woken.wake();
      if (!over && !stopped) await Promise.race([ended, sleep.sleep(withinMs)]);
      stopped = true;
      await current?.close();
    },
  };
}

export function reachedOf(head: HeadStatement): Reached {
  const { segment, offset, frame_end: frameEnd, next_frame: nextFrame, link } = head;
  return { segment, offset, frameEnd, nextFrame, link };
}

function forked(): Denied {
  return new Denied(
    "hub_forked",
    "The hub holds another continuation of this gateway's log: a copy of this host wrote there, or this home was restored. Nothing more goes there. Stop the copy; a restored home joins under another name.",
  );
}
