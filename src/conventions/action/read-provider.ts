import { defaults } from "../../kernel/defaults.ts";
import { isPrivateHost, type Origin, readOrigin, troubleWithOrigin } from "../url/origin.ts";
import type { Findings } from "./findings.ts";
import { isForbiddenHeader } from "./headers.ts";
import { type Auth, fieldsOf, type Limits, type Provider } from "./pack.ts";
import { readCallbacks } from "./read-callbacks.ts";
import type { ProviderWire } from "./schema/pack.ts";

const PATH = "/provider";

export function readProvider(wire: ProviderWire, findings: Findings): Provider | null {
  const origin = readOriginAt(wire.origin, `${PATH}/origin`, findings);
  const origins = (wire.redirects?.origins ?? []).map((text, index) =>
    readOriginAt(text, `${PATH}/redirects/origins/${index}`, findings),
  );
  const auth = readAuth(wire, findings);
  lintHeaders(wire, auth, findings);
  const callbacks = readCallbacks(wire, findings);
  if (origin === null) return null;
  return {
    origin,
    credential: wire.credential ?? null,
    auth,
    version: wire.version === undefined ? null : { header: wire.version.header, value: wire.version.value },
    idempotency:
      wire.idempotency === undefined
        ? null
        : {
            header: wire.idempotency.header,
            windowMs: wire.idempotency.window_s * 1000,
            format: wire.idempotency.format ?? "uuid",
          },
    correlationHeader: wire.correlation_header ?? null,
    redirects: {
      origins: origins.filter((each) => each !== null),
      others: wire.redirects?.others ?? "refuse",
      credential: wire.redirects?.credential ?? "strip",
      max: wire.redirects?.max ?? defaults.redirectsFollowed,
    },
    network: readNetwork(wire, origin, findings),
    ca: readAuthority(wire, findings),
    limits: readLimits(wire.limits, { timeoutMs: null, responseBytes: defaults.responseBytes }),
    success: wire.success ?? null,
    callbacks,
    accepts: wire.accepts ?? [],
    tolerates: (wire.tolerates ?? []).map((name) => name.toLowerCase()),
    tokenVariables: wire.token_variables ?? [],
  };
}

export function readOriginAt(text: string, path: string, findings: Findings): Origin | null {
  const trouble = troubleWithOrigin(text);
  if (trouble === null) return readOrigin(text);
  findings.error("origin_refused", path, trouble);
  return null;
}

export function readLimits(wire: ProviderWire["limits"], otherwise: Limits): Limits {
  return {
    timeoutMs: wire?.timeout_s === undefined ? otherwise.timeoutMs : wire.timeout_s * 1000,
    responseBytes: wire?.response_bytes ?? otherwise.responseBytes,
  };
}

function readAuth(wire: ProviderWire, findings: Findings): Auth | null {
  const { auth, credential } = wire;
  if (credential === undefined) {
    if (auth !== undefined)
      findings.error(
        "pack_member_unfit",
        `${PATH}/auth`,
        "auth without a credential does nothing; name the credential",
      );
    return null;
  }
  if (auth?.scheme === "header") {
    if (auth.header === undefined) {
      findings.error(
        "missing_member",
        `${PATH}/auth`,
        "scheme: header needs header, the field that carries the credential",
      );
      return null;
    }
    return { scheme: "header", header: auth.header.toLowerCase() };
  }
  if (auth?.header !== undefined) {
    findings.error(
      "pack_member_unfit",
      `${PATH}/auth/header`,
      "only scheme: header names its field; the others use Authorization",
    );
  }
  if (auth?.scopes !== undefined && auth.scheme !== "oauth2")
    findings.error("pack_member_unfit", `${PATH}/auth/scopes`, "only scheme: oauth2 has scopes");
  if (auth?.scheme === "aws-sigv4") return readAwsAuth(auth, findings);
  if (auth?.region !== undefined || auth?.service !== undefined || auth?.form !== undefined) {
    findings.error("pack_member_unfit", `${PATH}/auth`, "only scheme: aws-sigv4 has a region, a service and a form");
  }
  if (auth?.scheme === "oauth2") return { scheme: "oauth2", header: "authorization", scopes: auth.scopes ?? [] };
  return { scheme: auth?.scheme ?? "bearer", header: "authorization" };
}

function readAwsAuth({ region, service, form }: NonNullable<ProviderWire["auth"]>, findings: Findings): Auth | null {
  if (region === undefined || service === undefined) {
    findings.error(
      "missing_member",
      `${PATH}/auth`,
      "scheme: aws-sigv4 needs region and service, which the signature is made for",
    );
    return null;
  }
  return { scheme: "aws-sigv4", header: "authorization", region, service, form: form ?? "header" };
}

/** The provider's own fields: none may be one that we or the transport write, and no two may be the same. */
function lintHeaders(wire: ProviderWire, auth: Auth | null, findings: Findings): void {
  const seen = new Set(fieldsOf(auth));
  if (auth?.scheme === "header" && auth.header !== "authorization" && isForbiddenHeader(auth.header)) {
    findings.error("pack_header_forbidden", `${PATH}/auth/header`, `"${auth.header}" cannot carry a credential`);
  }
  const fields: readonly [string, string | undefined][] = [
    ["/version/header", wire.version?.header],
    ["/idempotency/header", wire.idempotency?.header],
    ["/correlation_header", wire.correlation_header],
  ];
  for (const [path, name] of fields) {
    if (name === undefined) continue;
    if (isForbiddenHeader(name))
      findings.error("pack_header_forbidden", PATH + path, `"${name}" is not a pack's to set`);
    if (seen.has(name.toLowerCase()))
      findings.error("pack_header_forbidden", PATH + path, `"${name}" already has another use in this provider`);
    seen.add(name.toLowerCase());
  }
}

function readNetwork(wire: ProviderWire, origin: Origin, findings: Findings): Provider["network"] {
  const isPrivate = isPrivateHost(new URL(origin).hostname);
  if (isPrivate && wire.network === "public") {
    findings.error(
      "pack_member_unfit",
      `${PATH}/network`,
      "the origin is a private or loopback address; say network: private",
    );
  }
  return wire.network ?? (isPrivate ? "private" : "public");
}

function readAuthority(wire: ProviderWire, findings: Findings): string | null {
  if (wire.ca === undefined) return null;
  if (!wire.origin.startsWith("https:"))
    findings.error("pack_member_unfit", `${PATH}/ca`, "an http origin has no certificate to check");
  return wire.ca;
}
