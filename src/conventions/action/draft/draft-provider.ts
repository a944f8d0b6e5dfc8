import { Denied } from "../../../kernel/failure.ts";
import type { JsonObject } from "../../../kernel/json.ts";
import { type Api, type ApiOperation, describeSecurity, type Scheme } from "../../upgrade/model/api.ts";
import { troubleWithOrigin } from "../../url/origin.ts";
import { isForbiddenHeader, isHeaderName } from "../headers.ts";

export interface DraftedProvider {
  readonly wire: JsonObject;
  readonly notes: readonly string[];
  readonly takenHeaders: ReadonlySet<string>;
  /** Null where the operation is served elsewhere. */
  basePathOf(operation: ApiOperation): string | null;
  /** What does not fit between the chosen scheme and the operation's own wish. */
  accessNotes(operation: ApiOperation): readonly string[];
}

interface Server {
  /** Null for an address relative to where the document was found. */
  readonly origin: string | null;
  readonly basePath: string;
}

/** One origin and one way to carry the credential, for that is what a pack has; the rest is told. */
export function draftProvider(
  api: Api,
  chosen: readonly ApiOperation[],
  label: string,
  wanted: string | null,
): DraftedProvider {
  const home = chooseServer(api);
  const origin = wanted ?? home.origin;
  if (origin === null || troubleWithOrigin(origin) !== null) {
    const trouble = origin === null ? "the document names no https server" : `${origin}: ${troubleWithOrigin(origin)}`;
    throw new Denied("origin_refused", `${trouble}. Say where the API is: --origin https://api.example.com`);
  }
  const others = new Set(api.servers.map((url) => readServer(url).origin));
  others.delete(home.origin);
  const scheme = chooseScheme(api, chosen);
  const auth = scheme === null ? null : authOf(scheme);
  const notes = [
    wanted === null ? `the origin is the document's; is it the one you mean to call?` : "the origin is yours",
    ...(others.size === 0 ? [] : [`the document also names ${[...others].join(", ")}`]),
    auth === null
      ? "no way to carry a credential was drafted: the document asks for none, or for one that a pack cannot carry"
      : `put the credential into the vault under the label ${label}, with the least scope that does`,
  ];
  return {
    wire: { origin, ...(auth === null ? {} : { credential: label, auth }) },
    notes,
    takenHeaders: new Set(auth?.scheme === "header" ? [auth.header] : ["authorization"]),
    basePathOf: (operation) =>
      operation.servers.map(readServer).find((server) => server.origin === home.origin)?.basePath ?? null,
    accessNotes: (operation) => {
      if (!operation.securityDeclared)
        return auth === null ? [] : ["the document declares no security for it; the credential is sent"];
      if (operation.security.length === 0 || operation.security.some((requirement) => requirement.length === 0))
        return auth === null ? [] : ["the document lets it be called without a credential; one is sent"];
      const fits = operation.security.some((one) => one.length === 1 && one[0]?.scheme === scheme?.name);
      return fits ? [] : [`the document asks for ${describeSecurity(operation)}, which this pack does not send`];
    },
  };
}

function chooseServer(api: Api): Server {
  const servers = api.servers.map(readServer);
  const secure = servers.find(({ origin }) => origin !== null && troubleWithOrigin(origin) === null);
  return secure ?? servers[0] ?? { origin: null, basePath: "" };
}

function readServer(text: string): Server {
  const absolute = URL.canParse(text);
  // A base only lends its form; what comes of a relative address is a path.
  const url = absolute ? new URL(text) : URL.parse(text, "https://relative.invalid");
  const basePath = (url?.pathname ?? "/").replace(/\/+$/, "");
  return { origin: absolute && url !== null ? url.origin : null, basePath };
}

type AuthWire = { readonly scheme: "bearer" | "basic" } | { readonly scheme: "header"; readonly header: string };

function authOf({ kind }: Scheme): AuthWire | null {
  if (kind === "bearer" || kind === "oauth2" || kind === "openIdConnect") return { scheme: "bearer" };
  if (kind === "basic") return { scheme: "basic" };
  const header = /^apiKey header (\S+)$/.exec(kind)?.[1];
  if (header === undefined || !isHeaderName(header)) return null;
  return header === "authorization" || !isForbiddenHeader(header) ? { scheme: "header", header } : null;
}

/** The scheme that alone lets in most of the chosen operations; among equals a key before a person's password. */
function chooseScheme(api: Api, chosen: readonly ApiOperation[]): Scheme | null {
  const counts = new Map<string, number>();
  for (const { security } of chosen) {
    for (const requirement of security) {
      const [only, second] = requirement;
      if (only !== undefined && second === undefined) counts.set(only.scheme, (counts.get(only.scheme) ?? 0) + 1);
    }
  }
  let best: Scheme | null = null;
  for (const [name, count] of counts) {
    const scheme = api.schemes.get(name);
    if (scheme === undefined || authOf(scheme) === null) continue;
    const before = best === null ? 0 : (counts.get(best.name) ?? 0);
    if (count > before || (count === before && best?.kind === "basic")) best = scheme;
  }
  return best;
}
