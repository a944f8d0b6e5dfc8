/**
 * Where the gateway tells that a card waits, signed into policy: what leaves the machine, and to whom, is an operator's
 * decision. Nobody decides anything through it.
 */
export interface Webhook {
  readonly name: string;
  /** For `slack` and `teams` it ends in `{secret}`: there the address itself is the secret. */
  readonly url: string;
  readonly format: WebhookFormat;
  /** The label in the vault: it signs (standard), ends the address (slack, teams) or goes along as a bearer token (ntfy). */
  readonly secret: string | null;
  /** Whether the arguments of a call leave too. */
  readonly tellsArguments: boolean;
  /** Where the operator's console is, for the link. */
  readonly console: string;
  readonly network: "public" | "private";
}

export const WEBHOOK_FORMATS = ["standard", "slack", "ntfy", "teams"] as const;
export type WebhookFormat = (typeof WEBHOOK_FORMATS)[number];

export const SECRET_PLACE = "{secret}";

/** What an hmac secret is bound to, so that it signs for this webhook alone. */
export function placeOfWebhook(name: string): string {
  return `webhook-${name}`;
}

/** Why these do not go together; null where they do. */
export function troubleWithWebhook({ url, format, secret, console, network }: Omit<Webhook, "name">): string | null {
  const inAddress = format === "slack" || format === "teams";
  if (inAddress !== url.endsWith(SECRET_PLACE)) {
    return inAddress
      ? `the address of ${format} is a secret: write its end as ${SECRET_PLACE}, and keep that end in the vault`
      : `${SECRET_PLACE} is for slack and teams`;
  }
  const plain = url.replace(SECRET_PLACE, "");
  const parsed = URL.parse(plain);
  if (parsed === null || parsed.href !== plain) return "the address is not written as a URL parser would write it";
  if (parsed.username !== "" || parsed.password !== "" || parsed.hash !== "") {
    return "the address holds neither a user nor a fragment";
  }
  if (parsed.protocol !== "https:" && !(parsed.protocol === "http:" && network === "private")) {
    return "the address is https, or http with --network private";
  }
  const place = URL.parse(console);
  if (place === null || (place.protocol !== "https:" && place.protocol !== "http:")) return "--console is a URL";
  // Last: what is wrong with the address is wrong whatever its secret is.
  return secret === null && format !== "ntfy" ? `${format} needs a secret of the vault: --secret LABEL` : null;
}
