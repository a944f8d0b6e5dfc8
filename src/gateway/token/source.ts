import { requireHeld } from "../../conventions/action/spooled.ts";
import { parseJsonValue } from "../../conventions/request/json/parse.ts";
import { Fault } from "../../kernel/failure.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../kernel/json.ts";
import { Secret } from "../../kernel/secret.ts";
import { readAwsKeys, wipeAwsKeys } from "../../vault/aws/keys.ts";
import { signForAws } from "../../vault/aws/sign.ts";
import { tokenLoan } from "../../vault/http-loan.ts";
import type { HttpLoan } from "../../vault/lent.ts";
import { type AwsSecretSource, isRemote, type RemoteSource, type VaultSource } from "../../vault/source/remote.ts";
import type { SecretSource } from "../../vault/source/source.ts";
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
    if (!isRemote(source)) {
      const found = await core.ports.sources?.read(source);
      if (found?.kind === "secret") return { ...found, lifeMs };
      return found ?? failed("nothing here reads such a source");
    }
    const held = findToken(core, label, version) !== null;
    const first = await readRemote(core, label, version, source, need);
    // A token that was taken back since is worth one more login.
    if (first.kind === "failed" && held && first.status === 403) {
      forget(label);
      return finish(await readRemote(core, label, version, source, need), lifeMs);
    }
    return finish(first, lifeMs);
  }

  async function readRemote(
    core: TokenNeeds,
    label: string,
    version: number,
    source: RemoteSource,
    need: ExchangeFor,
  ): Promise<Asked> {
    switch (source.kind) {
      case "vault-kv":
      case "vault-dynamic":
        return readVault(core, label, version, source, need);
      case "connect":
        return readConnect(core, label, version, source, need);
      case "aws-secret":
        return readAwsSecret(core, label, version, source, need);
    }
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
    const { data, lease_duration: seconds } = answer.body;
    if (source.kind === "vault-dynamic") {
      // What was made for a while is gone after that, whatever the operator would lend it for.
      if (typeof seconds !== "number" || !(seconds > 0)) return failed("it names no lease");
      const lifeMs = seconds * 1_000;
      const made = pick(data, source.field.split(":"));
      return made.kind === "failed" ? made : { ...made, lifeMs };
    }
    return pick(isJsonObject(data) ? data["data"] : null, [source.field]);
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
    // It may have been locked meanwhile: then nobody would wipe it.
    requireUnlocked(core);
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
type Asked =
  | Failed
  /** With `lifeMs`, it lasts no longer than that. */
  | { readonly kind: "text"; readonly text: string; readonly lifeMs?: number };

/** One member, or several with colons between them, as USER:PASSWORD is written. */
function pick(value: JsonValue | undefined, names: readonly string[]): Asked {
  const texts = names.map((name) => (isJsonObject(value) ? value[name] : undefined));
  return texts.every((one) => typeof one === "string")
    ? { kind: "text", text: texts.join(":") }
    : failed(`its answer has no text ${names.join(" and ")}`);
}

/** 1Password Connect: the item with all its fields, of which one is taken. */
async function readConnect(
  core: TokenNeeds,
  label: string,
  version: number,
  source: RemoteSource,
  need: ExchangeFor,
): Promise<Asked> {
  const lend = (): HttpLoan => {
    using token = requireUnlocked(core).lendOpener(label);
    return tokenLoan(label, token, null);
  };
  const request = sourceRequest(`source.${label}`, label, source, { method: "GET", url: source.url, body: null });
  const answer = await ask(core, label, version, request, lend, need);
  if (answer.kind === "failed") return answer;
  const fields = Array.isArray(answer.body["fields"]) ? answer.body["fields"].filter(isJsonObject) : [];
  const found = fields.filter(({ id, label: name }) => id === source.field || name === source.field);
  // Two of one name could be the one or the other.
  return found.length === 1 ? pick(found[0], ["value"]) : failed(`its item has not one field ${source.field}`);
}

/** AWS Secrets Manager: GetSecretValue, signed with the sealed key. */
async function readAwsSecret(
  core: TokenNeeds,
  label: string,
  version: number,
  source: AwsSecretSource,
  need: ExchangeFor,
): Promise<Asked> {
  const request = sourceRequest(`source.${label}`, label, source, {
    method: "POST",
    url: source.url,
    body: { SecretId: source.name },
    headers: { "content-type": "application/x-amz-json-1.1", "x-amz-target": "secretsmanager.GetSecretValue" },
  });
  const lend = (): HttpLoan => {
    using opener = requireUnlocked(core).lendOpener(label);
    const keys = opener.use(readAwsKeys);
    if (keys === undefined) throw new Fault("a sealed secret that is no access key");
    const { method, url, headers, body } = request.wire;
    const atMs = core.ports.clock.wallMs() + core.tokens.skewMs(label, url);
    const scope = { region: source.region, service: "secretsmanager", expiresS: null };
    const fields = signForAws({ method, url, headers, body: requireHeld(body), atMs, scope }, keys);
    const [first, ...further] = fields;
    if (first === undefined) throw new Fault("a signature without a field");
    const release = (): void => {
      for (const { value } of fields) value.wipe();
      wipeAwsKeys(keys);
    };
    const secrets = keys.sessionToken === null ? [keys.secret] : [keys.secret, keys.sessionToken];
    return { label, headerName: first.name, headerValue: first.value, further, secrets, release };
  };
  const answer = await ask(core, label, version, request, lend, need);
  if (answer.kind === "failed") return answer;
  const text = answer.body["SecretString"];
  if (typeof text !== "string") return failed("its answer has no SecretString");
  if (source.field === "") return { kind: "text", text };
  try {
    return pick(parseJsonValue(Buffer.from(text, "utf8")), [source.field]);
  } catch {
    return failed("its SecretString is no JSON, and has no members");
  }
}

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
  if (asked.kind === "failed") return asked;
  return { kind: "secret", secret: Secret.fromText(asked.text), lifeMs: Math.min(lifeMs, asked.lifeMs ?? lifeMs) };
}

function failed(why: string, status: number | null = null): Failed {
  return { kind: "failed", why, status };
}
