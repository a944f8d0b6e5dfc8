import { isJsonObject, type JsonObject, type JsonValue } from "../../kernel/json.ts";
import { Secret } from "../../kernel/secret.ts";
import type { HttpLoan } from "../../vault/lent.ts";
import type { SecretSource, VaultSource } from "../../vault/source/source.ts";
import { attempt } from "../attempt/attempt.ts";
import { requireUnlocked } from "../core.ts";
import { type ExchangeFor, jsonOf, paidAlone, withoutBody } from "./exchange.ts";
import { grantRow, readGrant } from "./grant-row.ts";
import type { TokenNeeds } from "./needs.ts";
import { sourceRequest, type TokenRequest } from "./request.ts";

/** What a source gave, or why it gave nothing, in our own words. */
export type Sourced =
  | { readonly kind: "secret"; readonly secret: Secret; readonly lifeMs: number }
  | { readonly kind: "failed"; readonly why: string };

interface Plan {
  readonly version: number;
  readonly source: SecretSource;
}

/** Reads secrets from where they are kept, and holds what opens that place for as long as it lasts. */
export function createSources() {
  const tokens = new Map<string, { readonly token: Secret; readonly version: number; readonly untilBootMs: number }>();

  function forget(label: string): void {
    tokens.get(label)?.token.wipe();
    tokens.delete(label);
  }

  function findToken(core: TokenNeeds, label: string, version: number): Secret | null {
    const one = tokens.get(label);
    if (one !== undefined && one.version === version && core.ports.clock.bootMs() < one.untilBootMs) return one.token;
    forget(label);
    return null;
  }

  async function read(core: TokenNeeds, label: string, { version, source }: Plan, need: ExchangeFor): Promise<Sourced> {
    const lifeMs = source.leaseS * 1_000;
    if (source.kind !== "vault-kv") {
      const found = await core.ports.sources?.read(source);
      if (found?.kind === "secret") return { ...found, lifeMs };
      return found ?? failed("nothing here reads such a source");
    }
    const held = findToken(core, label, version) !== null;
    const first = await readVault(core, label, version, source, need);
    // A token that was taken back since is worth one more login.
    if (first.kind === "failed" && held && first.status === 403) {
      forget(label);
      return finish(await readVault(core, label, version, source, need), lifeMs);
    }
    return finish(first, lifeMs);
  }

  async function readVault(
    core: TokenNeeds,
    label: string,
    version: number,
    source: VaultSource,
    need: ExchangeFor,
  ): Promise<Asked> {
    if (source.roleId !== null && findToken(core, label, version) === null) {
      const trouble = await login(core, label, version, source, source.roleId, need);
      if (trouble !== null) return trouble;
    }
    const lend = (): HttpLoan => {
      const token = findToken(core, label, version);
      const own = token === null ? requireUnlocked(core).lendOpener(label) : token.copy();
      return { label, headerName: "x-vault-token", headerValue: own, secrets: [own], release: () => own.wipe() };
    };
    const request = sourceRequest(`source.${label}`, label, source, { method: "GET", url: source.url, body: null });
    const answer = await ask(core, label, version, request, lend, need);
    if (answer.kind === "failed") return answer;
    const { data } = answer.body;
    const inner = isJsonObject(data) ? data["data"] : null;
    const value = isJsonObject(inner) ? inner[source.field] : undefined;
    return typeof value === "string" ? { kind: "text", text: value } : failed(`its answer has no text ${source.field}`);
  }

  /** AppRole: a role and its secret_id for a token that lasts a while. */
  async function login(
    core: TokenNeeds,
    label: string,
    version: number,
    source: VaultSource,
    roleId: string,
    need: ExchangeFor,
  ): Promise<Failed | null> {
    const url = `${new URL(source.url).origin}/v1/auth/${source.authMount}/login`;
    const request = sourceRequest(`exchange.${label}`, label, source, {
      method: "POST",
      url,
      body: { role_id: roleId },
    });
    const lend = (): HttpLoan => {
      const value = requireUnlocked(core).lendOpener(label);
      const nothing = Secret.take(Buffer.alloc(0));
      const json = [{ name: "secret_id", value }];
      return { label, headerName: "", headerValue: nothing, json, secrets: [value], release: () => value.wipe() };
    };
    const answer = await ask(core, label, version, request, lend, need);
    if (answer.kind === "failed") return answer;
    const { auth } = answer.body;
    const token = isJsonObject(auth) ? auth["client_token"] : null;
    const seconds = isJsonObject(auth) ? auth["lease_duration"] : null;
    if (typeof token !== "string" || !TOKEN.test(token)) return failed("its login gave no token that could be sent");
    const lifeMs = typeof seconds === "number" && seconds > 0 ? Math.min(seconds, DAY_S) * 1_000 : 0;
    const untilBootMs = core.ports.clock.bootMs() + Math.floor(lifeMs * 0.8);
    tokens.set(label, {
      token: Secret.fromText(token),
      version,
      untilBootMs: Math.max(untilBootMs, core.ports.clock.bootMs() + 1_000),
    });
    return null;
  }

  return {
    read,
    clear(): void {
      for (const label of [...tokens.keys()]) forget(label);
    },
  };
}

const DAY_S = 86_400;
const TOKEN = /^[\x21-\x7e]{8,4096}$/;

interface Failed {
  readonly kind: "failed";
  readonly why: string;
  readonly status: number | null;
}
type Asked = Failed | { readonly kind: "text"; readonly text: string };

/** One request, which is an attempt like any other. Nothing behind this sees the answer's body. */
async function ask(
  core: TokenNeeds,
  label: string,
  version: number,
  { wire, outbound }: TokenRequest,
  lend: () => HttpLoan,
  need: ExchangeFor,
): Promise<Failed | { readonly kind: "answered"; readonly body: JsonObject }> {
  const row = grantRow(core, { ...readGrant(core, label, version), pending: null });
  let body: JsonValue = null;
  const { observation } = await attempt(core, {
    ...paidAlone(core, need),
    ...{ outbound, request: wire, credential: label, lend, custody: () => row },
    take: async (seen) => {
      body = jsonOf(seen);
      return withoutBody(seen);
    },
  });
  if (observation.kind !== "answered") return failed(`no answer (${observation.reason})`);
  const { status } = observation;
  if (status !== 200) return failed(`it answered ${status}`, status);
  return isJsonObject(body) ? { kind: "answered", body } : failed("it answered without a JSON object");
}

function finish(asked: Asked, lifeMs: number): Sourced {
  return asked.kind === "failed" ? asked : { kind: "secret", secret: Secret.fromText(asked.text), lifeMs };
}

function failed(why: string, status: number | null = null): Failed {
  return { kind: "failed", why, status };
}
