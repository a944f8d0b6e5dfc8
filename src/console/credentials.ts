import { Denied } from "../kernel/failure.ts";
import type { JsonObject } from "../kernel/json.ts";
import { Secret } from "../kernel/secret.ts";
import type { CliDeps } from "../surfaces/cli/commands/deps.ts";
import type { OperatorOptions } from "../surfaces/cli/options.ts";
import {
  bindCredential,
  CREDENTIAL_CHANGES,
  type CredentialVerb,
  changeCredential,
  renewCredential,
  storeCredential,
} from "../surfaces/cli/vault/change-credential.ts";
import { recordOf } from "../surfaces/cli/vault/credential-list.ts";
import { revokeFirst } from "../surfaces/cli/vault/credential-use.ts";
import { withUsername } from "../surfaces/cli/vault/secret-input.ts";
import type { VaultSession } from "../surfaces/cli/vault/session.ts";
import type { OperatorClient } from "../surfaces/client/operator.ts";
import type { CredentialUse } from "../surfaces/operator/answers.ts";
import { findEntry } from "../vault/entry.ts";
import { summariesOf } from "../vault/summary.ts";
import type { CredentialKind } from "../vault/vault.ts";
import { textOf, textOrNull } from "./http.ts";

/** The kinds that a form can take. What is exchanged for tokens has terms of its own, and `gw credential add` asks for them. */
const FORM_KINDS = ["bearer", "basic", "header", "hmac", "ssh"] as const satisfies readonly CredentialKind[];

export type CredentialShown = ReturnType<typeof recordOf> & {
  /** Since the gateway was unlocked; null where it was not used, "unasked" where the gateway cannot be asked. */
  readonly use: CredentialUse | null | "unasked";
};

export interface CredentialPorts {
  readonly session: VaultSession;
  readonly options: OperatorOptions;
  readonly deps: CliDeps;
  client(): OperatorClient;
}

/** Values go in here and never come out: no answer of this room holds one. */
export function createCredentials({ session, options, deps, client }: CredentialPorts) {
  const ports = deps.vault;
  const kindOf = (label: string): CredentialKind => findEntry(session.home.readVault(), label).kind;
  const readValue = (body: JsonObject, kind: CredentialKind) => {
    const given = Secret.fromText(textOf(body, "value", 32_768));
    const phrase = body["key_passphrase"] === undefined ? null : textOf(body, "key_passphrase", 1_000);
    try {
      return {
        secret: withUsername(kind, textOrNull(body, "username") ?? undefined, given),
        ...(phrase === null ? {} : { keyPassphrase: Secret.fromText(phrase) }),
      };
    } finally {
      given.wipe();
    }
  };
  return {
    async list(): Promise<readonly CredentialShown[]> {
      const uses = await Promise.resolve()
        .then(() => client().credentialUses())
        .catch(() => null);
      return summariesOf(session.home.readVault()).map((summary) => ({
        ...recordOf(summary),
        use: uses === null ? "unasked" : (uses.find(({ label }) => label === summary.label) ?? null),
      }));
    },
    async add(body: JsonObject): Promise<JsonObject> {
      const kind = FORM_KINDS.find((one) => one === body["kind"]);
      if (kind === undefined) {
        throw new Denied("credential_invalid", "This kind has terms of its own: gw credential add, in a terminal.");
      }
      const label = textOf(body, "label", 64).trim();
      const header = textOrNull(body, "header");
      const value = readValue(body, kind);
      using _secret = value.secret;
      using _phrase = value.keyPassphrase;
      await storeCredential(session, ports, {
        ...{ label, kind, ...value },
        boundTo: placesOf(body),
        eachUse: body["each_use"] === true,
        ...(header === null ? {} : { headerName: header }),
      });
      return { label };
    },
    async rotate(label: string, body: JsonObject): Promise<JsonObject> {
      const value = readValue(body, kindOf(label));
      using _secret = value.secret;
      using _phrase = value.keyPassphrase;
      await renewCredential(session, ports, { label, ...value });
      return { label };
    },
    async bind(label: string, body: JsonObject): Promise<JsonObject> {
      kindOf(label);
      await bindCredential(session, ports, label, placesOf(body));
      return { label };
    },
    async change(label: string, body: JsonObject): Promise<JsonObject> {
      kindOf(label);
      const verb = textOf(body, "verb", 40);
      if (!Object.hasOwn(CREDENTIAL_CHANGES, verb)) throw new Denied("value_not_allowed", "There is no such change.");
      const warnings: string[] = [];
      const io = { ...deps.io, err: (text: string) => void warnings.push(text) };
      if (verb === "removed") await revokeFirst(label, options, { io, clock: deps.clock }, session);
      await changeCredential(session, ports, label, verb as CredentialVerb);
      return { label, warnings };
    },
  };
}

/** One a line. */
function placesOf(body: JsonObject): readonly string[] {
  return textOf(body, "bound_to", 4_000)
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}
