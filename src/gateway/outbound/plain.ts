import type { HttpAction, Method, Pack } from "../../conventions/action/pack.ts";
import { readOrigin } from "../../conventions/url/origin.ts";
import { parseTemplate } from "../../conventions/url/template.ts";
import { canonicalJson, digestJson, digestText } from "../../kernel/canonical-json.ts";
import { defaults } from "../../kernel/defaults.ts";
import type { JsonValue } from "../../kernel/json.ts";
import type { HttpSend } from "../ports.ts";
import type { Outbound } from "./outbound.ts";

/** A request with no pack behind it: what an operator's corpus or a sealed credential defines. */
export interface PlainRequest {
  /** Stands where a pack's name would. */
  readonly pack: string;
  readonly name: string;
  readonly wire: HttpSend;
  /** The body as the log keeps it. */
  readonly body: JsonValue;
  readonly sideEffect: boolean;
  readonly credential: string;
  readonly limits?: HttpAction["limits"];
}

/** Such a request as records and budgets know a call. */
export function describePlain({
  pack,
  name,
  wire,
  body,
  sideEffect,
  credential,
  limits = LIMITS,
}: PlainRequest): Outbound {
  const effect = sideEffect ? "write" : "read";
  const url = new URL(wire.url);
  const text = canonicalJson({ body, headers: { ...wire.headers }, method: wire.method, url: wire.url });
  const requestDigest = digestText(text);
  const method = wire.method as Method;
  const base = { action: name, effect, maxCostCents: 0, asksEachCall: false, limits, requestDigest } as const;
  const requestBytes = wire.body?.byteLength ?? 0;
  const packDigest = digestJson({ pack });
  return {
    definition: definitionOf({ pack, digest: packDigest, name, effect, method, limits }),
    bound: {
      ...base,
      kind: "http",
      packDigest,
      retry: sideEffect ? "non_idempotent_write" : "read",
      requestBytes,
      shown: {},
      sentAs: {},
      kept: { text, whole: true, url: wire.url },
      method,
      url: wire.url,
      origin: readOrigin(url.origin),
      headers: wire.headers,
      body: wire.body,
      credential,
      auth: null,
      network: wire.network,
      ca: null,
      echo: "withhold",
    },
    input: {},
    action: name,
    channel: "http",
    sideEffect,
    method,
    credential,
    reach: {
      ...{ action: name, effect, channel: "http", destination: url.origin, hostKey: null },
      ...{ credential, method, path: url.pathname },
    },
    requestDigest,
    requestBytes,
    shownArguments: {},
    versionSelector: null,
  };
}

const LIMITS: HttpAction["limits"] = { timeoutMs: null, responseBytes: defaults.responseBytes };

function definitionOf(of: {
  readonly pack: string;
  readonly digest: Pack["digest"];
  readonly name: string;
  readonly effect: "read" | "write";
  readonly method: Method;
  readonly limits: HttpAction["limits"];
}) {
  const { name, effect, method, limits } = of;
  const pack: Pack = { name: of.pack, description: null, digest: of.digest, provider: null, actions: new Map() };
  const action: HttpAction = {
    kind: "http",
    name,
    qualifiedName: name,
    description: null,
    effect,
    retry: effect === "read" ? "read" : "non_idempotent_write",
    needs: { plan: null, approval: "session", ticket: false },
    inputs: [],
    schema: { type: "object" },
    checkArguments: () => [],
    plan: null,
    previewless: false,
    confirm: null,
    maxCostCents: 0,
    actualCost: null,
    asksEachCall: false,
    job: null,
    unknown: { retryAllowed: false, reconcile: null, tokenRetry: false },
    rollback: null,
    pages: null,
    echo: "withhold",
    mints: [],
    token: null,
    limits,
    method,
    template: parseTemplate("/"),
    body: null,
    mediaType: null,
    gzip: false,
    emptyBody: false,
    streams: false,
    accept: null,
    tolerates: [],
  };
  return { pack, action };
}
