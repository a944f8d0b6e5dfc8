import assert from "node:assert/strict";
import { createHmac, createSecretKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStateStore } from "../../src/adapters/store/sqlite/state.ts";
import { createHttpTransport } from "../../src/adapters/transport/http/transport.ts";
import type { AuditEvent, EventOf } from "../../src/audit/event.ts";
import { openLog } from "../../src/audit/log.ts";
import { openReader } from "../../src/audit/read/reader.ts";
import type { Pack } from "../../src/conventions/action/pack.ts";
import { readPack } from "../../src/conventions/action/read.ts";
import {
  type DecisionStatement,
  type ErrandStatement,
  type RevocationStatement,
  type SettlementStatement,
  signStatement,
} from "../../src/conventions/approval/decision.ts";
import type { Ceilings } from "../../src/conventions/budget/ceilings.ts";
import type { Grant } from "../../src/conventions/grant/grant.ts";
import type { DecisionRules } from "../../src/conventions/passkey/demand.ts";
import type { EnrolledPasskey } from "../../src/conventions/passkey/passkey.ts";
import type { TicketService } from "../../src/conventions/ticket/lookup.ts";
import type { IssuerKey } from "../../src/conventions/ticket/verify.ts";
import type { Approval } from "../../src/gateway/approval/question.ts";
import { createGateway, type Gateway } from "../../src/gateway/gateway.ts";
import type { Definition } from "../../src/gateway/outbound/outbound.ts";
import type {
  AuditSink,
  Credentials,
  HttpTransport,
  HubGate,
  LiveCaller,
  Ports,
  SshTransport,
  StateRow,
  StateStore,
} from "../../src/gateway/ports.ts";
import type { Run } from "../../src/gateway/run/run.ts";
import type { StepPort } from "../../src/gateway/steps.ts";
import { isoTime } from "../../src/kernel/clock.ts";
import { Denied } from "../../src/kernel/failure.ts";
import { createIds, type OperationId } from "../../src/kernel/ids.ts";
import type { JsonObject } from "../../src/kernel/json.ts";
import { Secret } from "../../src/kernel/secret.ts";
import { tokenLoan } from "../../src/vault/http-loan.ts";
import type { SecretSource } from "../../src/vault/source/source.ts";
import type { TokenExchange } from "../../src/vault/token/exchange.ts";
import { exchangeLoan } from "../../src/vault/token/lend-exchange.ts";
import { type ManualTime, manualTime } from "./clock.ts";
import { holdToDeclared } from "./declared.ts";

export const TOKEN = "tok-5ecret-0123456789";
const random = { bytes: randomBytes };

/** A whole gateway with a real log, a real store and the real HTTP transport; only time, callers and the vault are the test's. */
export interface Bench {
  readonly gateway: Gateway;
  readonly time: ManualTime;
  readonly sent: string[];
  readonly credentials: Map<string, { eachUse: boolean; disabled: boolean; origin: string }>;
  readonly issuers: IssuerKey[];
  readonly services: TicketService[];
  readonly grants: Grant[];
  /** Users that only agents run as. */
  readonly agentUsers: number[];
  posture: {
    mode: "guard-rail" | "dedicated";
    ceilings?: Ceilings;
    decisions?: { rules: DecisionRules; where: readonly string[] };
  };
  readonly passkeys: EnrolledPasskey[];
  /** What would stand in clear in the log, in its order. */
  readonly hands: string[];
  /** No pack that is trusted has the action any more. */
  forget(action: string): void;
  /** Once more, after a test has locked it. */
  unlock(): Promise<void>;
  approve(narrow?: DecisionStatement["narrow"]): Promise<Approval>;
  deny(reason: string): Promise<Approval>;
  decision(
    approval: Approval,
    change?: Partial<DecisionStatement>,
    key?: KeyObject,
  ): ReturnType<typeof signStatement<DecisionStatement>>;
  revocation(sessionId: string, reason?: string | null): ReturnType<typeof signStatement<RevocationStatement>>;
  /** An operator's word on what became of an operation. */
  settlement(
    operationId: string,
    happened: boolean,
    change?: Partial<SettlementStatement>,
  ): ReturnType<typeof signStatement<SettlementStatement>>;
  /** What an operator asks of an operation from another machine. */
  errand(operationId: string, change?: Partial<ErrandStatement>): ReturnType<typeof signStatement<ErrandStatement>>;
  waiting(): Promise<Approval>;
  openRun(caller: LiveCaller, actions: readonly string[], limits?: Partial<Run["budget"]["limits"]>): Promise<Run>;
  /** One that a person has said yes to. */
  openApproved(caller: LiveCaller, actions: readonly string[], limits?: Partial<Run["budget"]["limits"]>): Promise<Run>;
  events(): readonly AuditEvent[];
  eventsOf<Type extends AuditEvent["event_type"]>(type: Type): readonly EventOf<Type>[];
  /** What the store holds of a table in a state. */
  rows(table: StateRow["table"], state: string): readonly JsonObject[];
  close(): Promise<void>;
  /** Ends like a killed process: nothing more is written, and nothing is told. */
  abandon(): Promise<void>;
}

export interface BenchOptions {
  readonly wrapAudit?: (sink: AuditSink) => AuditSink;
  readonly wrapStore?: (store: StateStore) => StateStore;
  readonly wrapHttp?: (http: HttpTransport) => HttpTransport;
  /** A host that the test speaks for, and that lets any key in. */
  readonly ssh?: SshTransport;
  readonly folder?: string;
  /** Another name where two gateways share one store: a log has one writer. */
  readonly logFolder?: string;
  /** There before the gateway is unlocked, for what it does at once. */
  readonly credentials?: readonly (readonly [string, { eachUse: boolean; disabled: boolean; origin: string }])[];
  readonly stateKey?: KeyObject;
  /** Callback secrets, by pack and label. */
  readonly callbackKeys?: Readonly<Record<string, Buffer>>;
  readonly time?: ManualTime;
  /** Whoever reads the log afterwards, where that is another process. */
  readonly reading?: { readonly publicKey: KeyObject; readonly privateKey: KeyObject };
  /** Credentials that are exchanged for tokens, by label. */
  readonly exchanged?: Readonly<Record<string, { version: number; exchange: TokenExchange; secret: string }>>;
  readonly suspended?: (label: string, reason: string) => void;
  /** The label of a credential whose secret a program prints: it prints `token`. */
  readonly sourced?: string;
  /** Credentials whose secret a service keeps, by label, with what opens it. */
  readonly kept?: Readonly<Record<string, { version: number; source: SecretSource; opener: string }>>;
  /** What the vault lends, where a real provider has to take it. */
  readonly token?: string;
  readonly steps?: StepPort;
  readonly hub?: HubGate;
  readonly traffic?: { calls: number };
  readonly space?: Ports["space"];
}

export const operatorKeys = generateKeyPairSync("ed25519");
export const secondOperator = generateKeyPairSync("ed25519");
const standardReading = generateKeyPairSync("x25519");
const standardStateKey = createSecretKey(randomBytes(32));
export const VAULT_ID = "vlt_test";

const packs = new Map<string, Pack>();

/** Read once: every test of a file starts a gateway with the same text. */
function packOf(text: string): Pack {
  const known = packs.get(text);
  if (known !== undefined) return known;
  const { pack, findings } = readPack(Buffer.from(text), "test.yaml");
  assert.ok(pack !== null, JSON.stringify(findings));
  packs.set(text, pack);
  return pack;
}

export async function startBench(packText: string, options: BenchOptions = {}): Promise<Bench> {
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), "gw-bench-"));
  const time = options.time ?? manualTime();
  const reading = options.reading ?? standardReading;
  const token = options.token ?? TOKEN;
  const pack = packOf(packText);
  const definitions = new Map<string, Definition>(
    [...pack.actions.values()].map((action) => [action.qualifiedName, { pack, action }]),
  );
  const log = await openLog({
    folder: join(folder, options.logFolder ?? "audit"),
    clock: time.clock,
    random,
    recipients: [reading.publicKey],
    vaultGeneration: 1,
    vaultHash: Buffer.alloc(32),
  });
  const store = await openStateStore(join(folder, "state.db"), options.stateKey ?? standardStateKey, random);
  const http = createHttpTransport();
  const sent: string[] = [];
  const credentials: Bench["credentials"] = new Map(options.credentials ?? []);
  /** As the vault itself refuses. */
  const lendable = (label: string, origin: string): void => {
    const held = credentials.get(label);
    if (held?.disabled === true) throw new Denied("credential_disabled", `${label} is disabled`);
    if (held?.origin !== origin) throw new Denied("credential_not_bound", `${label} is not bound there`);
  };
  const vault: Credentials = {
    find: (label) => credentials.get(label) ?? null,
    lendHttp(label, origin) {
      lendable(label, origin);
      const secret = Secret.fromText(token);
      const headerValue = Secret.fromText(`Bearer ${token}`);
      return { label, headerName: "authorization", headerValue, secrets: [secret], release: () => headerValue.wipe() };
    },
    exchangeOf: (label) => {
      const one = options.exchanged?.[label];
      return one === undefined ? null : { version: `${one.version} of old`, exchange: one.exchange };
    },
    lendExchange(label, url, ask) {
      const one = options.exchanged?.[label];
      assert.equal(url, one?.exchange.tokenEndpoint);
      if (one === undefined) throw new Denied("credential_not_bound", `${label} is not exchanged`);
      return exchangeLoan(label, one.exchange, url, Secret.fromText(one.secret), ask);
    },
    lendToken(label, origin, token) {
      lendable(label, origin);
      return tokenLoan(label, token, null);
    },
    sourceOf(label) {
      const one = options.kept?.[label];
      if (one !== undefined) return { version: `${one.version} of old`, source: one.source };
      return label === options.sourced
        ? { version: "1 of old", source: { kind: "command", argv: ["/usr/bin/pass"], leaseS: 300 } }
        : null;
    },
    checkSourced: () => undefined,
    lendOpener(label) {
      const one = options.kept?.[label];
      if (one !== undefined) return Secret.fromText(one.opener);
      throw new Denied("credential_not_bound", `${label} has no source`);
    },
    lendSshSigner(label) {
      const nothing = Buffer.alloc(0);
      if (options.ssh !== undefined)
        return {
          label,
          publicKeyBlob: nothing,
          algorithm: "ssh-ed25519",
          sign: () => nothing,
          release: () => undefined,
        };
      throw new Denied("credential_not_bound", `${label} is no key`);
    },
    lendHmac(label, pack) {
      const key = options.callbackKeys?.[`${pack} ${label}`];
      if (key === undefined) throw new Denied("credential_not_bound", `${label} is not bound to ${pack}`);
      return { label, mac: (hash, data) => createHmac(hash, key).update(data).digest(), release: () => undefined };
    },
  };
  const noHost: SshTransport = {
    send: async () => ({
      kind: "never_sent",
      reason: "helper_failed",
      detail: "no host here",
      elapsedMs: 0,
      connected: false,
    }),
  };
  const posture: Bench["posture"] = { mode: "guard-rail" };
  const transport: HttpTransport = {
    send(receipt, request, credential, limits) {
      sent.push(`${request.method} ${request.url}`);
      return http.send(receipt, request, credential, limits);
    },
  };
  let dead = false;
  const never = new Promise<never>(() => undefined);
  const killable = (sink: AuditSink): AuditSink => ({
    head: () => sink.head(),
    hasRoom: () => sink.hasRoom(),
    append: (events) => (dead ? never : sink.append(events)),
  });
  const gateway = createGateway(
    {
      ...time,
      random,
      ids: createIds(time.clock, random),
      audit: killable(options.wrapAudit?.(log) ?? log),
      http: options.wrapHttp?.(transport) ?? transport,
      ssh: options.ssh ?? noHost,
      ...(options.steps === undefined ? {} : { steps: options.steps }),
      ...(options.hub === undefined ? {} : { hub: options.hub }),
      ...(options.traffic === undefined ? {} : { traffic: options.traffic }),
      ...(options.space === undefined ? {} : { space: options.space }),
      sources: { read: async () => ({ kind: "secret", secret: Secret.fromText(token) }) },
    },
    {
      packs: () => ({ find: (name) => definitions.get(name) ?? null, all: () => [...definitions.values()] }),
      posture: () => posture,
      grants: () => bench.grants,
      isAgentUser: (uid) => bench.agentUsers.includes(uid),
      showHand: (text) => void bench.hands.push(text),
      operators: () => ({
        vaultId: VAULT_ID,
        keys: [
          { name: "ada", keyId: "k1", publicKey: operatorKeys.publicKey },
          { name: "bob", keyId: "k2", publicKey: secondOperator.publicKey },
        ],
        passkeys: bench.passkeys,
      }),
      ticketIssuers: () => bench.issuers,
      ticketServices: () => bench.services,
      worker: options.logFolder ?? "audit",
      suspendCredential: async (label, _of, reason) => options.suspended?.(label, reason),
      onStop: () => undefined,
    },
  );
  const unlock = () => gateway.unlock({ credentials: vault, store: options.wrapStore?.(store) ?? store });
  await unlock();
  const requireDeclared = holdToDeclared(gateway, time.clock);

  const bench: Bench = {
    forget: (action) => void definitions.delete(action),
    unlock,
    gateway,
    time,
    sent,
    credentials,
    issuers: [],
    services: [],
    grants: [],
    agentUsers: [],
    passkeys: [],
    hands: [],
    posture,
    decision(approval, change = {}, key = operatorKeys.privateKey) {
      const statement: DecisionStatement = {
        format: "gw.decision/v1",
        vault_id: VAULT_ID,
        approval_id: approval.approvalId,
        card_digest: approval.cardDigest ?? "",
        decision: "approve",
        reason: null,
        narrow: null,
        operator: "ada",
        operator_key_id: "k1",
        decided_at: isoTime(time.clock.wallMs()),
        log_head: { frame: "1", link: "00" },
        ...change,
      };
      return signStatement(statement, { sign: (bytes) => sign(null, bytes, key) });
    },
    revocation: (sessionId, reason = "enough") =>
      signStatement(
        {
          format: "gw.revocation/v1",
          vault_id: VAULT_ID,
          session_id: sessionId,
          reason,
          operator: "ada",
          operator_key_id: "k1",
          decided_at: isoTime(time.clock.wallMs()),
        },
        { sign: (bytes) => sign(null, bytes, operatorKeys.privateKey) },
      ),
    settlement(operation_id, happened, change = {}) {
      const statement: SettlementStatement = {
        format: "gw.settlement/v1",
        vault_id: VAULT_ID,
        operation_id,
        request_fingerprint: gateway.operations.get(operation_id as OperationId).fingerprint,
        happened,
        reason: "seen at the provider",
        although: null,
        operator: "ada",
        operator_key_id: "k1",
        decided_at: isoTime(time.clock.wallMs()),
        ...change,
      };
      return signStatement(statement, { sign: (bytes) => sign(null, bytes, operatorKeys.privateKey) });
    },
    errand(operation_id, change = {}) {
      const statement: ErrandStatement = {
        format: "gw.errand/v1",
        vault_id: VAULT_ID,
        gateway: "web1",
        operation_id,
        request_fingerprint: gateway.operations.get(operation_id as OperationId).fingerprint,
        errand: "reconcile",
        reason: "",
        nonce: "0",
        operator: "ada",
        operator_key_id: "k1",
        decided_at: isoTime(time.clock.wallMs()),
        ...change,
      };
      return signStatement(statement, { sign: (bytes) => sign(null, bytes, operatorKeys.privateKey) });
    },
    async waiting() {
      for (const giveUpAt = Date.now() + 240_000; Date.now() < giveUpAt; ) {
        const found = gateway.desk.list().at(-1);
        if (found !== undefined) return found;
        await new Promise((resolve) => setImmediate(resolve));
      }
      return assert.fail("no card was opened");
    },
    approve: async (narrow = null) => gateway.desk.decide(bench.decision(await bench.waiting(), { narrow })),
    deny: async (reason) => gateway.desk.decide(bench.decision(await bench.waiting(), { decision: "deny", reason })),
    openRun: (caller, actions, limits = {}) =>
      gateway.openRun(caller, {
        purpose: "test",
        actions,
        limits: { attempts: 40, sideEffects: 5, durationMs: 600_000, spendCents: 0, ...limits },
      }),
    async openApproved(caller, actions, limits) {
      const run = await bench.openRun(caller, actions, limits);
      await bench.approve();
      await run.admission?.session;
      return run;
    },
    eventsOf: <Type extends AuditEvent["event_type"]>(type: Type) =>
      bench.events().filter((event): event is EventOf<Type> => event.event_type === type),
    events() {
      const events: AuditEvent[] = [];
      const reader = openReader(join(folder, options.logFolder ?? "audit"), reading.privateKey);
      for (let items = reader.next(); items !== undefined; items = reader.next()) {
        for (const item of items) if (item.kind === "record") events.push(item.event);
      }
      reader.close();
      return events;
    },
    rows: (table, state) => store.load(table, state).flatMap((row) => ("tampered" in row ? [] : [row.body])),
    async abandon() {
      dead = true;
      await bench.close();
    },
    async close() {
      await log.close();
      await store.close();
      await http.close();
      if (options.folder === undefined) rmSync(folder, { recursive: true, force: true });
      requireDeclared();
    },
  };
  return bench;
}

export function denies(code: Denied["code"]): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof Denied, String(error));
    assert.equal(error.code, code);
    return true;
  };
}
