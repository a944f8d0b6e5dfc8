import { isJsonObject, type JsonObject, type JsonValue } from "../../kernel/json.ts";
import { Secret } from "../../kernel/secret.ts";
import type { SecretVersion } from "../../vault/entry.ts";
import type { HttpLoan } from "../../vault/lent.ts";
import type { RemoteSource } from "../../vault/source/remote.ts";
import { attempt } from "../attempt/attempt.ts";
import { countExchange, type ExchangeFor, jsonOf, notSent, paidAlone, withoutBody } from "./exchange.ts";
import { grantRow, readGrant } from "./grant-row.ts";
import type { TokenNeeds } from "./needs.ts";
import type { TokenRequest } from "./request.ts";

/** Which credential's secret is asked for, where, and for whom. */
export interface Asking<Source> {
  readonly core: TokenNeeds;
  readonly label: string;
  readonly version: SecretVersion;
  readonly source: Source;
  readonly need: ExchangeFor;
}

export interface Failed {
  readonly kind: "failed";
  readonly why: string;
  readonly status: number | null;
}

export type Asked =
  | Failed
  /** With `lifeMs`, it lasts no longer than that. */
  | { readonly kind: "secret"; readonly secret: Secret; readonly lifeMs?: number };

/** One request, which is an attempt like any other. Nothing behind this sees the answer's body. */
export async function askStore(
  { core, label, version, need }: Asking<RemoteSource>,
  { wire, outbound }: TokenRequest,
  lend: () => HttpLoan,
  ends: "open" | "behind_lock" | null = null,
): Promise<Failed | { readonly kind: "answered"; readonly body: JsonObject }> {
  const row = grantRow(core, { ...readGrant(core, label, version), pending: null });
  let body: JsonValue = null;
  // No limit keeps anybody from ending something.
  const counted = ends === null ? await countExchange(core, label) : null;
  const { observation } = await attempt(core, {
    ...paidAlone(core, need),
    ...{ outbound, request: wire, credential: label, lend, custody: () => row, behindLock: ends === "behind_lock" },
    take: async (seen) => {
      body = jsonOf(seen);
      return withoutBody(seen);
    },
  }).catch(notSent(counted));
  if (observation.kind !== "answered") return failed(`no answer (${observation.reason})`);
  const { status } = observation;
  if (status === 204) return { kind: "answered", body: {} };
  if (status !== 200) return failed(`it answered ${status}`, status);
  return isJsonObject(body) ? { kind: "answered", body } : failed("it answered without a JSON object");
}

/** One member, or several with colons between them, as USER:PASSWORD is written. */
export function pick(value: JsonValue | undefined, names: readonly string[]): Asked {
  const texts = names.map((name) => (isJsonObject(value) ? value[name] : undefined));
  return texts.every((one) => typeof one === "string")
    ? { kind: "secret", secret: Secret.fromText(texts.join(":")) }
    : failed(`its answer has no text ${names.join(" and ")}`);
}

export function failed(why: string, status: number | null = null): Failed {
  return { kind: "failed", why, status };
}
