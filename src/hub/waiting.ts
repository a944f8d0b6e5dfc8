import type { KeyObject } from "node:crypto";
import { rawPublicOf, takePrivateKey } from "../audit/keys/raw.ts";
import { type Random, type Sleep, Waker } from "../kernel/clock.ts";
import { defaults } from "../kernel/defaults.ts";
import { Denied } from "../kernel/failure.ts";
import type { Secret } from "../kernel/secret.ts";
import { type Answering, answerStatements } from "./answer-statements.ts";
import type { HubConnection } from "./connect.ts";
import type { Generations } from "./documents.ts";
import { keepConnected } from "./keep-connected.ts";
import { HUB_SCHEMA, isForGateway } from "./schema.ts";
import { signHubWith, type WaitingStatement } from "./statement.ts";
import { openUnlock, readUnlock, readUnlockBody } from "./unlock.ts";

export interface WaitingParts {
  readonly hubId: string;
  readonly gateway: string;
  readonly vaultId: string;
  /** Signs that this gateway waits, and nothing else. */
  readonly signing: KeyObject;
  readonly random: Random;
  readonly sleep: Sleep;
  connect(): Promise<HubConnection>;
  knows(): Generations;
  log(): { readonly id: string; readonly frame: number };
  /** The same as before for as long as the log takes it; otherwise one that is written into the log now. */
  offerAttestation(before: WaitingStatement["attestation"] | null): Promise<WaitingStatement["attestation"]>;
  attest(statement: Buffer): Promise<unknown>;
  /** Denied where what this gateway said of its log on the hub does not stand in the log. */
  requireOwnPast(connection: HubConnection): Promise<void>;
  operators(): Parameters<typeof readUnlock>[1];
  unlock(serviceKey: Secret, operator: { readonly operator: string; readonly operatorKeyId: string }): Promise<void>;
  readonly refuse: Answering["refuse"];
  /** Null when all is well again. */
  tell(trouble: Denied | null): void;
}

export interface Waiting {
  close(): Promise<void>;
}

/** Asks on the hub to be unlocked, for as long as nobody did. Every try has a key of its own, so that none is played again. */
export function startWaiting(parts: WaitingParts): Waiting {
  const { hubId, gateway, vaultId } = parts;
  const answering: Answering = {
    ...{ hubId, gateway, key: parts.signing, unsaid: new Map() },
    refuse: parts.refuse,
  };
  let request = drawRequest(parts);
  let woken = new Waker();
  let closed = false;

  /** Said anew with each look, by the database's clock: whoever shows an old one is found by its time. */
  async function ask(connection: HubConnection): Promise<void> {
    const [now] = await connection.ask<{ ms: string }>(
      "select floor(extract(epoch from clock_timestamp()) * 1000)::bigint as ms",
    );
    const attestation = await request.offer();
    const { id: log_id, frame } = parts.log();
    const statement: WaitingStatement = {
      format: "gw.hub-waiting/v1",
      hub_id: hubId,
      gateway,
      vault_id: vaultId,
      nonce: request.nonce,
      sealing_key: request.sealingKey,
      knows: parts.knows(),
      log_id,
      frame,
      attestation,
      hub_ms: Number(now?.ms ?? 0),
    };
    const { text, signature } = signHubWith(statement, parts.signing);
    // What an earlier process left is removed when it is old: two at once shall be seen as two.
    await connection.ask(
      `with old as (delete from ${HUB_SCHEMA}.waiting where gateway = $1 and nonce <> $2 and at < clock_timestamp() - make_interval(secs => $5))
       insert into ${HUB_SCHEMA}.waiting (gateway, nonce, statement, signature) values ($1, $2, $3, $4)
       on conflict (gateway, nonce) do update set statement = $3, signature = $4, at = clock_timestamp()`,
      [gateway, request.nonce, text, signature, defaults.hubSilentMs / 1_000],
    );
  }

  async function withdraw(connection: HubConnection, nonce: string): Promise<void> {
    await connection.ask(`delete from ${HUB_SCHEMA}.waiting where gateway = $1 and nonce = $2`, [gateway, nonce]);
  }

  function take(connection: HubConnection): Promise<void> {
    return answerStatements(connection, answering, "unlock", async (body) => {
      const { nonce } = request;
      try {
        await perform(body);
        return "unlocked";
      } finally {
        // What came of it is known by now; a request that stays there is over by its time.
        if (request.nonce !== nonce) await withdraw(connection, nonce).catch(() => undefined);
      }
    });
  }

  async function perform(body: string): Promise<void> {
    const given = readUnlockBody(body);
    const said = given === undefined ? undefined : readUnlock(given, parts.operators());
    if (said === undefined)
      throw new Denied("signature_invalid", "No operator of this vault signed this. It stays locked.");
    const { nonce, sealingKey, own } = request;
    if (said.hub_id !== hubId || said.gateway !== gateway || said.vault_id !== vaultId || said.nonce !== nonce) {
      throw new Denied("unlock_request_over", "This was for another request than the one that waits. It stays locked.");
    }
    const knows = parts.knows();
    if (said.knows.vault > knows.vault || said.knows.policy > knows.policy) {
      throw new Denied(
        "gateway_behind",
        `Whoever signed this knows vault ${said.knows.vault} and policy ${said.knows.policy}, and this gateway has vault ${knows.vault} and policy ${knows.policy}. It stays locked.`,
      );
    }
    // Whatever comes of it, nobody plays it again.
    request = drawRequest(parts);
    const bound = { hub_id: hubId, gateway, vault_id: vaultId, nonce, sealing_key: sealingKey };
    using serviceKey = openUnlock(bound, own, said.sealed);
    if (serviceKey === undefined)
      throw new Denied("unlock_request_over", "What was sent is not sealed to the key that waits. It stays locked.");
    if (said.attestation !== null) await parts.attest(Buffer.from(said.attestation, "base64url"));
    await parts.unlock(serviceKey, { operator: said.operator, operatorKeyId: said.operator_key_id });
  }

  async function work(connection: HubConnection, works: () => void): Promise<void> {
    await parts.requireOwnPast(connection);
    await connection.listen((what) => {
      if (isForGateway(what, gateway)) woken.wake();
    });
    works();
    while (!closed) {
      if (woken.aborted) woken = new Waker();
      await ask(connection);
      parts.tell(null);
      await take(connection);
      if (closed) break;
      // Whoever tells all the time is not looked at all the time.
      await parts.sleep.sleep(defaults.hubAgainMs);
      if (!closed) await parts.sleep.sleep(defaults.hubBeatMs, woken);
    }
    await withdraw(connection, request.nonce);
  }

  const ended = keepConnected(parts, {
    work,
    wake: () => woken.wake(),
    failed: (error) =>
      parts.tell(error instanceof Denied ? error : new Denied("internal_fault", String(error).slice(0, 300))),
    isOver: () => closed,
  });

  return {
    close() {
      closed = true;
      woken.wake();
      return ended;
    },
  };
}

function drawRequest({ random, offerAttestation }: Pick<WaitingParts, "random" | "offerAttestation">) {
  const own = takePrivateKey("x25519", random.bytes(32));
  const sealingKey = rawPublicOf("x25519", own).toString("base64url");
  // Each one is a seal in the log: said again every few seconds, it is the same one.
  let offered: WaitingStatement["attestation"] | null = null;
  const offer = async (): Promise<WaitingStatement["attestation"]> => {
    offered = await offerAttestation(offered);
    return offered;
  };
  return { nonce: random.bytes(16).toString("hex"), own, sealingKey, offer };
}
