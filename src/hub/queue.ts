import type { KeyObject } from "node:crypto";
import { type Random, type Sleep, Waker } from "../kernel/clock.ts";
import { defaults } from "../kernel/defaults.ts";
import type { Denied } from "../kernel/failure.ts";
import type { JsonObject } from "../kernel/json.ts";
import { type Answering, answerStatements } from "./answer-statements.ts";
import { type CardReader, sealCard } from "./card.ts";
import type { HubConnection } from "./connect.ts";
import { keepConnected, troubleOf } from "./keep-connected.ts";
import { HUB_CHANNEL, HUB_SCHEMA, isForGateway } from "./schema.ts";

/** A question that waits, as an operator is shown it. `version` is another one when there is more to say. */
export interface WaitingCard {
  readonly approvalId: string;
  readonly version: string;
  content(): JsonObject;
}

export interface QueueParts {
  readonly hubId: string;
  readonly gateway: string;
  readonly vaultId: string;
  readonly identity: KeyObject;
  readonly random: Random;
  readonly sleep: Sleep;
  connect(): Promise<HubConnection>;
  waiting(): readonly WaitingCard[];
  /** Whoever may decide now. */
  readers(): readonly CardReader[];
  /** Looks after the signed files first: what an operator decides may rest on them. */
  follow(connection: HubConnection): Promise<void>;
  /** Takes an operator's signed statement as the local plane would; what it says when that is done. */
  take(body: string): Promise<string>;
  /** The same for the next policy. */
  takePolicy(body: string): Promise<string>;
  readonly refuse: Answering["refuse"];
  /** Whether it is certain that no copy of this host speaks under its name. Until then nothing is said and nothing taken. */
  isKnown(): boolean;
}

export interface Queue {
  /** A question came, changed or is over. */
  wake(): void;
  /** Resolves once what the hub has now is followed, or cannot be. */
  followed(): Promise<void>;
  /** Why questions and answers do not go on though the database answers; null while they do. */
  trouble(): Denied | null;
  close(): void;
}

/** Shows the questions of this gateway on the hub, and takes what operators sign there. */
export function startQueue(parts: QueueParts): Queue {
  const { hubId, gateway, vaultId, sleep } = parts;
  const answering: Answering = {
    ...{ hubId, gateway, key: parts.identity, unsaid: new Map() },
    refuse: parts.refuse,
  };
  let woken = new Waker();
  let closed = false;
  let trouble: Denied | null = null;
  let shown = new Map<string, string>();
  let connected = false;
  /** Whoever waits for the next look at the signed files. */
  let awaiting: (() => void)[] = [];

  function tellFollowed(asked = awaiting): void {
    if (asked === awaiting) awaiting = [];
    for (const tell of asked) tell();
  }

  /** What was left by an earlier process is over: its questions died with it. */
  async function begin(connection: HubConnection): Promise<void> {
    shown = new Map();
    await connection.ask(`delete from ${HUB_SCHEMA}.cards where gateway = $1`, [gateway]);
  }

  async function tidy(connection: HubConnection): Promise<void> {
    await connection.ask(
      `delete from ${HUB_SCHEMA}.statements where gateway = $1 and answer is not null and at < clock_timestamp() - make_interval(hours => $2)`,
      [gateway, defaults.hubAnswersHours],
    );
  }

  async function show(connection: HubConnection): Promise<void> {
    const readers = parts.readers();
    const who = readers.map(({ keyId }) => keyId).join(" ");
    const waiting = new Map(parts.waiting().map((card) => [card.approvalId, card]));
    for (const approvalId of [...shown.keys()].filter((id) => !waiting.has(id))) {
      await connection.ask(`delete from ${HUB_SCHEMA}.cards where gateway = $1 and approval_id = $2`, [
        gateway,
        approvalId,
      ]);
      shown.delete(approvalId);
    }
    for (const [approval_id, card] of waiting) {
      const version = `${card.version} ${who}`;
      if (shown.get(approval_id) === version) continue;
      const place = { hub_id: hubId, gateway, approval_id, vault_id: vaultId };
      const { sealed, signed } = sealCard(place, card.content(), readers, parts.identity, parts.random);
      await connection.ask(
        `with put as (
           insert into ${HUB_SCHEMA}.cards (gateway, approval_id, sealed, statement, signature) values ($1, $2, $3, $4, $5)
           on conflict (gateway, approval_id) do update set sealed = $3, statement = $4, signature = $5)
         select pg_notify('${HUB_CHANNEL}', 'card')`,
        [gateway, approval_id, sealed, signed.text, signed.signature],
      );
      shown.set(approval_id, version);
    }
  }

  /** Whoever is told that a policy was taken finds it on the hub. */
  async function takeAndShow(connection: HubConnection, body: string): Promise<string> {
    const said = await parts.takePolicy(body);
    await parts.follow(connection).catch(() => undefined);
    return said;
  }

  async function work(connection: HubConnection, works: () => void): Promise<void> {
    await connection.listen((what) => {
      if (isForGateway(what, gateway)) woken.wake();
    });
    works();
    connected = true;
    for (let begun = false; !closed; ) {
      const now = woken;
      if (now.aborted) woken = new Waker();
      if (!parts.isKnown()) {
        tellFollowed();
        await sleep.sleep(defaults.hubAgainMs);
        await sleep.sleep(defaults.hubBeatMs, woken);
        continue;
      }
      if (!begun) await begin(connection);
      begun = true;
      await show(connection);
      // What operators decided is taken also where the signed files cannot be followed.
      const asked = awaiting;
      awaiting = [];
      const wrong = await parts.follow(connection).then(
        () => null,
        (error: unknown) => ({ error }),
      );
      tellFollowed(asked);
      await answerStatements(connection, answering, "order", parts.take);
      await answerStatements(connection, answering, "policy", (body) => takeAndShow(connection, body));
      if (wrong !== null) throw wrong.error;
      trouble = null;
      if (!now.aborted) await tidy(connection);
      // Whoever tells all the time is not looked at all the time.
      await sleep.sleep(defaults.hubAgainMs);
      await sleep.sleep(defaults.hubBeatMs, woken);
    }
  }

  void keepConnected(parts, {
    work,
    wake: () => woken.wake(),
    // The questions wait on the local plane meanwhile. A database that is away is the shipper's to tell of, by whom calls are refused then.
    failed(error) {
      connected = false;
      tellFollowed();
      const next = troubleOf(error);
      trouble = next.code === "hub_unreachable" ? null : next;
    },
    isOver: () => closed,
  });

  return {
    wake: () => woken.wake(),
    followed() {
      if (!connected || closed) return Promise.resolve();
      return new Promise((tell) => {
        awaiting.push(tell);
        woken.wake();
      });
    },
    trouble: () => trouble,
    close() {
      closed = true;
      tellFollowed();
      woken.wake();
    },
  };
}
