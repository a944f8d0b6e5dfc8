/**
 * The reference provider: the specification's reference actions as a real server, for API authors to run, read and copy
 * from, for packs and demos to act on, and for tests to break on purpose.
 */
import { createPublicKey, createSecretKey } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Clock, Random, Sleep } from "../../../src/kernel/clock.ts";
import { defaults } from "../../../src/kernel/defaults.ts";
import { createClientErrorHandler } from "../../request/src/client-error.ts";
import type { RequestRecord } from "../../request/src/record.ts";
import type { Core, ExecuteStep } from "./core.ts";
import { type Courier, startCourier } from "./courier.ts";
import { createFaults } from "./faults.ts";
import { buryTokens } from "./idempotency.ts";
import { createIdentify } from "./identify.ts";
import { createListener } from "./listen.ts";
import { createShelf } from "./plan/shelf.ts";
import { seed } from "./seed.ts";
import type { Signer } from "./signatures/verify.ts";
import { openStore, type Store } from "./store.ts";
import { generateTokenKey, issueToken, readTokenKeys, type TokenRequest } from "./tokens/keys.ts";

export interface ReferenceOptions {
  /** 0 takes a free port. Only loopback is ever listened on. */
  readonly port: number;
  /** The SQLite file; artifacts and mail are kept in folders beside it. */
  readonly file: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly sleep: Sleep;
  /** Whether the control route for faults exists. */
  readonly faults?: boolean;
  readonly webhookUrl?: string;
  /** The public Ed25519 key, in PEM, of `robot`, who signs requests instead of sending a token. */
  readonly signerKey?: string;
  readonly onRecord?: (record: RequestRecord) => void;
  readonly onPreview?: (record: RequestRecord) => void;
  readonly onFault?: (error: unknown, correlationId: string) => void;
  /** Called at named steps of an execution, for tests that stop the process there. */
  readonly onStep?: (step: ExecuteStep) => void;
}

export interface Reference {
  readonly origin: string;
  /** The key that webhooks are signed with, in the notation of Standard Webhooks. */
  readonly webhookSecret: string;
  issueToken(request: TokenRequest): Promise<string>;
  sendWebhooksTo(url: string | null): void;
  close(): Promise<void>;
}

/** Every scope but `control`, for a token that may do everything. */
export const allScopes: readonly string[] = [
  ...["projects:read", "builds:read", "integrations:read", "events:read", "memberships:plan", "memberships:write"],
  ...["deployments:read", "deployments:write", "rollbacks:write", "releases:write", "capabilities:issue"],
  ...["operations:read", "reports:read", "reports:write", "artifacts:write", "sessions:revoke"],
];

function signersOf(pem: string | undefined): readonly Signer[] {
  if (pem === undefined) return [];
  const publicKey = createPublicKey(pem);
  return [{ keyId: "robot", publicKey, tenant: "acme", actor: "robot", scopes: new Set(allScopes), tokenId: "robot" }];
}

export async function startReference(options: ReferenceOptions): Promise<Reference> {
  const { clock, random, sleep } = options;
  const store = openStore(options.file);
  const newKey = (): string => random.bytes(32).toString("base64");
  const identify = createIdentify(clock, random);
  const keys = readTokenKeys(setting(store, "token_key", generateTokenKey));
  const webhookKey = Buffer.from(setting(store, "webhook_key", newKey), "base64");
  const server = createServer({ requireHostHeader: false, keepAliveTimeout: KEEP_ALIVE_MS });
  server.on("checkExpectation", (request, response) => server.emit("request", request, response));
  server.on(
    "clientError",
    createClientErrorHandler(() => identify("req")),
  );
  const origin = await listen(server, options.port).catch(async (error: unknown) => {
    store.close();
    throw error;
  });
  let webhookUrl = options.webhookUrl ?? null;
  let courier: Courier | undefined;
  const core: Core = {
    ...{ store, clock, random, sleep, identify, origin },
    faults: createFaults(options.faults ?? false, defaults.referenceFaultsArmed),
    tokens: keys,
    signers: signersOf(options.signerKey),
    plans: createShelf(),
    promotions: createShelf(),
    macKey: createSecretKey(setting(store, "mac_key", newKey), "base64"),
    artifactFolder: `${options.file}.artifacts`,
    subscribed: () => webhookUrl !== null,
    published: () => courier?.wake(),
    step: (name) => options.onStep?.(name),
  };
  seed(core);
  buryTokens(core);
  const ignore = (): void => {};
  const onFault = options.onFault ?? ((error: unknown) => console.error("reference provider:", error));
  server.on(
    "request",
    createListener(core, {
      onRecord: options.onRecord ?? ignore,
      onPreview: options.onPreview ?? ignore,
      onFault,
    }),
  );
  courier = startCourier(core, {
    webhookKey,
    webhookUrl: () => webhookUrl,
    mailFolder: `${options.file}.mail`,
    onFault: (error) => onFault(error, identify("req")),
  });
  return {
    origin,
    webhookSecret: `whsec_${webhookKey.toString("base64")}`,
    issueToken: (request) => issueToken(keys, clock, identify, request),
    sendWebhooksTo(url) {
      webhookUrl = url;
    },
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
      await courier?.stop();
      store.close();
    },
  };
}

const KEEP_ALIVE_MS = 30_000;

async function listen(server: Server, port: number): Promise<string> {
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Made once and kept in the file, so that tokens and cursors outlive a restart. */
function setting(store: Store, name: string, make: () => string): string {
  return store.write(() => {
    const known = store.one(store.db.selectFrom("settings").select("value").where("name", "=", name));
    if (known !== undefined) return known.value;
    const value = make();
    store.run(store.db.insertInto("settings").values({ name, value }));
    return value;
  });
}
