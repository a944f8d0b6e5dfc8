import type { JsonValue } from "../../../kernel/json.ts";
import { isJsonObject } from "../../../kernel/json.ts";
import { buildUrl } from "../../url/build.ts";
import { readOrigin } from "../../url/origin.ts";
import type { QueryPair, Scalar } from "../../url/query.ts";
import { parseTemplate } from "../../url/template.ts";
import type { Corpus } from "./corpus-schema.ts";
import { basePathOf, type ProbeExchange, type ProbeRequest, type ProbeVersion, type SendProbe } from "./exchange.ts";
import type { ProbeCase } from "./expand.ts";
import { type Grant, readGrant } from "./grant.ts";
import { createNames, type Facts, type Names, normalizeExchange, parseBody, readLinkHeader } from "./normalize.ts";
import { fillValue, valueAt } from "./values.ts";

/** What one version did with one case. */
export interface Observed {
  readonly case: ProbeCase;
  readonly facts: Facts;
  /** The follow-up of the first page, where the case has pages. */
  readonly next: Facts | null;
  readonly grant: Grant | null;
}

export interface RunOptions {
  /** A person approved the side effects that the corpus marks. Without it they are not sent. */
  readonly sideEffectsApproved: boolean;
}

/** Sends every case to one version, in order. What leaves goes through `send`, and nothing else does. */
export async function runCorpus(
  corpus: Corpus,
  cases: readonly ProbeCase[],
  version: ProbeVersion,
  send: SendProbe,
  options: RunOptions,
): Promise<ReadonlyMap<string, Observed>> {
  const account = accountValues(corpus);
  const traces = new Map<string, Map<string, string>>();
  const observed = new Map<string, Observed>();
  for (const one of cases) {
    const values = one.trace === null ? new Map(account) : (traces.get(one.trace) ?? new Map(account));
    if (one.trace !== null) traces.set(one.trace, values);
    const request = buildRequest(one, version, values);
    const exchange = await sendOne(one, request, send, options);
    takeValues(one, exchange, values);
    const names = createNames(values);
    observed.set(one.id, {
      case: one,
      facts: normalizeExchange(exchange, version, account, names),
      next: await followPage(one, request, exchange, version, account, names, send),
      grant: one.grant === null ? null : readGrant(exchange),
    });
  }
  return observed;
}

export function accountValues(corpus: Corpus): ReadonlyMap<string, string> {
  const { more, ...four } = corpus.account;
  return new Map(Object.entries({ ...more, ...four }));
}

function sendOne(
  one: ProbeCase,
  request: ProbeRequest | null,
  send: SendProbe,
  options: RunOptions,
): Promise<ProbeExchange> {
  if (request === null)
    return Promise.resolve({ kind: "not_sent", reason: "a value it needs was not given by an earlier step" });
  if (one.sideEffect && !options.sideEffectsApproved)
    return Promise.resolve({ kind: "not_sent", reason: "its side effect was not approved" });
  return send(request);
}

function buildRequest(one: ProbeCase, version: ProbeVersion, values: ReadonlyMap<string, string>): ProbeRequest | null {
  const { method, path, with: given, query, headers, body } = one.request;
  const filledPath = fillValue(given ?? {}, values);
  const filledQuery = fillValue(query ?? {}, values);
  const filledHeaders = fillValue(headers ?? {}, values);
  const filledBody = body === undefined ? null : fillValue(body, values);
  if (filledPath === undefined || filledQuery === undefined || filledHeaders === undefined || filledBody === undefined)
    return null;
  const { url } = buildUrl({
    origin: readOrigin(new URL(version.base).origin),
    template: parseTemplate(`${basePathOf(version)}${path}`),
    path: new Map(scalars(filledPath).map(([name, value]) => [name, { value, percent: "literal" }])),
    query: scalars(filledQuery).map(([name, value]): QueryPair => ({ name, value, percent: "literal", list: null })),
  });
  const selector = version.header === null ? {} : { [version.header.name.toLowerCase()]: version.header.value };
  const own = Object.fromEntries(scalars(filledHeaders).map(([name, value]) => [name.toLowerCase(), String(value)]));
  return {
    caseId: one.id,
    method,
    url,
    headers: { ...own, ...selector },
    body: body === undefined ? undefined : filledBody,
    credential: one.credential,
    sideEffect: one.sideEffect,
  };
}

function scalars(value: JsonValue): readonly (readonly [string, Scalar])[] {
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([name, held]): readonly (readonly [string, Scalar])[] =>
    typeof held === "string" || typeof held === "number" || typeof held === "boolean" ? [[name, held]] : [],
  );
}

function takeValues(one: ProbeCase, exchange: ProbeExchange, values: Map<string, string>): void {
  if (exchange.kind !== "answered" || exchange.status >= 300) return;
  const body = parseBody(exchange.body);
  for (const [name, pointer] of Object.entries(one.take)) {
    const value = valueAt(body, pointer);
    if (value !== undefined) values.set(name, value);
  }
}

/** One follow-up page, and only on the version's own origin: a link that leads away is reported, never followed. */
async function followPage(
  one: ProbeCase,
  first: ProbeRequest | null,
  exchange: ProbeExchange,
  version: ProbeVersion,
  account: ReadonlyMap<string, string>,
  names: Names,
  send: SendProbe,
): Promise<Facts | null> {
  if (one.pages === null || one.pages === undefined || first === null) return null;
  if (exchange.kind !== "answered" || exchange.status >= 300) return null;
  const url = new URL(first.url);
  if ("link" in one.pages) {
    const next = readLinkHeader(exchange.headers["link"] ?? "").find(({ rel }) => rel === "next");
    if (next === undefined) return null;
    const target = URL.parse(next.url, first.url);
    if (target === null || target.origin !== url.origin) {
      return normalizeExchange(
        { kind: "not_sent", reason: "the next link leads to another origin" },
        version,
        account,
        names,
      );
    }
    return normalizeExchange(
      await send({ ...first, caseId: `${first.caseId}~page2`, url: target.href }),
      version,
      account,
      names,
    );
  }
  const cursor = valueAt(parseBody(exchange.body), one.pages.next);
  if (cursor === undefined || cursor === "") return null;
  url.searchParams.set(one.pages.param, cursor);
  return normalizeExchange(
    await send({ ...first, caseId: `${first.caseId}~page2`, url: url.href }),
    version,
    account,
    names,
  );
}
