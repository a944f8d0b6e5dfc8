import { parseJsonValue } from "../../../packages/request/src/json/parse.ts";
import { requireHeld } from "../../conventions/action/spooled.ts";
import { Fault } from "../../kernel/failure.ts";
import { isJsonObject } from "../../kernel/json.ts";
import { Secret } from "../../kernel/secret.ts";
import { readAwsKeys, wipeAwsKeys } from "../../vault/aws/keys.ts";
import { signForAws } from "../../vault/aws/sign.ts";
import type { SecretVersion } from "../../vault/entry.ts";
import { tokenLoan } from "../../vault/http-loan.ts";
import type { HttpLoan } from "../../vault/lent.ts";
import type { AwsSecretSource, ConnectSource } from "../../vault/source/remote.ts";
import type { LocalSource, SecretSource } from "../../vault/source/source.ts";
import { requireUnlocked } from "../core.ts";
import { type Asked, type Asking, askStore, failed, pick } from "./ask-store.ts";
import type { ExchangeFor } from "./exchange.ts";
import type { TokenNeeds } from "./needs.ts";
import { sourceRequest } from "./request.ts";
import { createVaultStore } from "./vault-store.ts";

/** What a source gave, or why it gave nothing, in our own words. */
export type Sourced =
  | { readonly kind: "secret"; readonly secret: Secret; readonly lifeMs: number }
  | { readonly kind: "failed"; readonly why: string };

interface Plan {
  readonly version: SecretVersion;
  readonly source: SecretSource;
}

/** Reads secrets from where they are kept, and holds what opens that place for as long as it lasts. */
export function createSources(part: (end: Promise<boolean>) => void) {
  const { read: readVault, ...store } = createVaultStore(part);

  async function read(core: TokenNeeds, label: string, plan: Plan, need: ExchangeFor): Promise<Sourced> {
    const asked = await ask(core, label, plan, need);
    if (asked.kind === "failed") return asked;
    const lifeMs = plan.source.leaseS * 1_000;
    return { ...asked, lifeMs: Math.min(lifeMs, asked.lifeMs ?? lifeMs) };
  }

  function ask(core: TokenNeeds, label: string, { version, source }: Plan, need: ExchangeFor): Promise<Asked> {
    const about = { core, label, version, need };
    switch (source.kind) {
      case "command":
      case "systemd":
        return readLocal({ ...about, source });
      case "vault-kv":
      case "vault-dynamic":
        return readVault({ ...about, source });
      case "connect":
        return readConnect({ ...about, source });
      case "aws-secret":
        return readAwsSecret({ ...about, source });
    }
  }

  return { read, ...store };
}

/** Something on this machine: no attempt, so that an event of its own says who read what, from where. */
async function readLocal({ core, label, source, need }: Asking<LocalSource>): Promise<Asked> {
  const found = (await core.ports.sources?.read(source)) ?? failed("nothing here reads such a source");
  const told = {
    ...core.envelope("source_read"),
    ...{ run_id: need.run.id, call_id: need.callId, session_id: need.session.id },
    credential_label: label,
    source: source.kind,
    from: source.kind === "command" ? (source.argv[0] ?? "") : source.name,
    given: found.kind === "secret",
    reason: found.kind === "secret" ? null : found.why,
  };
  try {
    await core.ledger.record("source.read", [told]);
  } catch (error) {
    // What nobody could write down is lent to nobody.
    if (found.kind === "secret") found.secret.wipe();
    throw error;
  }
  return found.kind === "secret" ? found : failed(found.why);
}

/** 1Password Connect: the item with all its fields, of which one is taken. */
async function readConnect(asking: Asking<ConnectSource>): Promise<Asked> {
  const { core, label, source } = asking;
  const lend = (): HttpLoan => {
    using token = requireUnlocked(core).lendOpener(label);
    return tokenLoan(label, token, null);
  };
  const request = sourceRequest(`source.${label}`, label, source, { method: "GET", url: source.url, body: null });
  const answer = await askStore(asking, request, lend);
  if (answer.kind === "failed") return answer;
  const fields = Array.isArray(answer.body["fields"]) ? answer.body["fields"].filter(isJsonObject) : [];
  const found = fields.filter(({ id, label: name }) => id === source.field || name === source.field);
  // Two of one name could be the one or the other.
  return found.length === 1 ? pick(found[0], ["value"]) : failed(`its item has not one field ${source.field}`);
}

/** AWS Secrets Manager: GetSecretValue, signed with the sealed key. */
async function readAwsSecret(asking: Asking<AwsSecretSource>): Promise<Asked> {
  const { core, label, source } = asking;
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
  const answer = await askStore(asking, request, lend);
  if (answer.kind === "failed") return answer;
  const text = answer.body["SecretString"];
  if (typeof text !== "string") return failed("its answer has no SecretString");
  if (source.field === "") return { kind: "secret", secret: Secret.fromText(text) };
  try {
    return pick(parseJsonValue(Buffer.from(text, "utf8"), { longIntegersAsText: true }), [source.field]);
  } catch {
    return failed("its SecretString is no JSON, and has no members");
  }
}
