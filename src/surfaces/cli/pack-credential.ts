import type { Auth, Pack, PackFinding } from "../../conventions/action/pack.ts";
import type { CredentialSummary } from "../../vault/summary.ts";
import type { CredentialKind } from "../../vault/vault.ts";

/** What a vault says of a credential in the open. */
export type HeldCredential = Pick<CredentialSummary, "label" | "kind" | "boundTo" | "headerName" | "exchange">;

const TOKENS: readonly CredentialKind[] = ["bearer", "oauth2", "jwt-bearer", "github-app"];
const KINDS: Readonly<Record<Auth["scheme"], readonly CredentialKind[]>> = {
  bearer: TOKENS,
  oauth2: TOKENS,
  basic: ["basic"],
  header: ["header"],
  "aws-sigv4": ["aws-sigv4", "aws-role"],
  "http-signature": ["http-signature"],
  mtls: ["mtls"],
};

/** What a pack needs of its credential, beside what the vault holds under that name: calls would be refused, by us or by the provider. */
export function credentialFindings(
  file: string,
  pack: Pack | null,
  credentials: () => readonly HeldCredential[],
): readonly PackFinding[] {
  const provider = pack?.provider ?? null;
  if (pack === null || provider === null || provider.credential === null) return [];
  const held = credentials().find(({ label }) => label === provider.credential);
  if (held === undefined) return [];
  const about = { severity: "warning", file, line: 1, column: 1 } as const;
  const unbound = [unfitKind(held, provider.auth), unfitOrigin(held, provider.origin)].filter((one) => one !== null);
  const missing = missingScopes(held, pack);
  return [
    ...unbound.map(([path, message]) => ({ ...about, code: "credential_not_bound", path, message }) as const),
    ...(missing.length === 0
      ? []
      : ([
          {
            ...about,
            code: "token_scope_missing",
            path: "/provider/credential",
            message: `the credential ${held.label} is not pinned to ${missing.join(" ")}: actions that need it are refused`,
          },
        ] as const)),
  ];
}

/** What keeps calls of these packs from leaving, although the vault holds a credential of that name, and the command that mends it. */
export function misfitsOf(
  packs: readonly Pack[],
  held: readonly HeldCredential[],
): readonly { readonly pack: string; readonly detail: string; readonly mend: string }[] {
  return packs.flatMap((pack) =>
    credentialFindings(pack.name, pack, () => held).flatMap(({ code, path, message }) =>
      code === "credential_not_bound"
        ? [{ pack: pack.name, detail: `${pack.name}: ${message}`, mend: mendOf(path, pack, packs) }]
        : [],
    ),
  );
}

/** Binding names every place that is left: those of the other packs that use it too. */
function mendOf(path: string, { name, provider }: Pack, packs: readonly Pack[]): string {
  const label = provider?.credential ?? "";
  if (path !== "/provider/origin") return `gw credential remove ${label}, then add it as gw pack show ${name} says`;
  const using = packs.flatMap(({ provider: other }) => (other?.credential === label ? [other.origin] : []));
  return `gw credential bind ${label} ${[...new Set(using)].map((origin) => `--origin ${origin}`).join(" ")}`;
}

type Finding = readonly [path: string, message: string];

function unfitKind({ label, kind, headerName }: HeldCredential, auth: Auth | null): Finding | null {
  const scheme = auth?.scheme ?? "bearer";
  const fits = KINDS[scheme];
  if (!fits.includes(kind))
    return ["/provider/auth", `${label} is of kind ${kind}, and scheme: ${scheme} takes ${fits.join(", ")}`];
  if (auth?.scheme !== "header" || headerName?.toLowerCase() === auth.header) return null;
  return ["/provider/auth/header", `${label} is sent in ${headerName}, and the pack says ${auth.header}`];
}

function unfitOrigin({ label, boundTo }: HeldCredential, origin: string): Finding | null {
  if (boundTo.includes(origin)) return null;
  return ["/provider/origin", `${label} is bound to ${boundTo.join(", ")} and is not lent to ${origin}`];
}

/** Of a credential that is exchanged: what its tokens have to be good for, beside what it is pinned to. */
function missingScopes({ exchange }: HeldCredential, { provider, actions }: Pack): readonly string[] {
  if (exchange === null) return [];
  const own = provider?.auth?.scheme === "oauth2" ? provider.auth.scopes : [];
  const needs = new Set([...own, ...[...actions.values()].flatMap(({ token }) => token?.scopes ?? [])]);
  return [...needs].filter((scope) => !exchange.scopes.includes(scope));
}
