/** An answer that the gateway's side of a box makes itself. A tool shows one part of it or another, so the words are in all. */
export interface BoxAnswer {
  readonly status: number;
  readonly reason: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Buffer;
}

/** 403 and never 5xx: tools repeat those by themselves. git shows text and no JSON. */
export function refuseInBox(code: string, message: string, userAgent: string | undefined): BoxAnswer {
  const isGit = userAgent?.startsWith("git/") === true;
  const text = isGit ? `${code}: ${message}\n` : `${JSON.stringify({ message, error: code, detail: message })}\n`;
  return {
    status: 403,
    reason: `Refused by gw - ${code}`,
    headers: [["content-type", isGit ? "text/plain; charset=utf-8" : "application/json"]],
    body: Buffer.from(text),
  };
}

/** What is asked of the way out, before anybody looks at what it means. */
export interface BoxRequest {
  readonly scheme: "https" | "http";
  /** The name that the client asked for in its TLS greeting; null without one. */
  readonly serverName: string | null;
  readonly method: string;
  readonly target: string;
  /** As received, names in lower case. */
  readonly headers: readonly (readonly [string, string])[];
}

/** Why the way out carries something nowhere: what the tool is told, and what the log says of it. */
export const boxRefusals = {
  connect: "CONNECT is for proxies, and there is none here. Connect to the host itself.",
  whole_url: "The request names a whole URL, as one to a proxy does. Unset the proxy and connect to the host itself.",
  host_fields: "A request has exactly one Host field.",
  address: "It was sent to an address and not to a name. Use the name of the host: actions are defined for names.",
  host: "The Host field is no host name.",
  other_name: "The TLS connection was opened for another name than the Host field says.",
  upgrade: "WebSockets and other upgrades are not carried.",
  grpc: "gRPC is not carried.",
  http2: "HTTP/2 without asking first is not carried. Let the tool negotiate, or speak HTTP/1.1.",
  malformed: "That is no HTTP/1.1 request that can be read.",
  greeting: "A TLS greeting failed: the tool does not trust the box, or speaks HTTP/2 alone.",
  stranger: "It came from a process that this run did not start.",
  crowded: "Too many requests at once.",
} as const;

export type BoxRefusal = keyof typeof boxRefusals;

export type Origin =
  | { readonly kind: "origin"; readonly origin: string }
  | { readonly kind: "refused"; readonly why: BoxRefusal };

const HOST = /^(?=.{1,253}(?::|$))[a-z0-9_](?:[a-z0-9_-]{0,62})(?:\.[a-z0-9_][a-z0-9_-]{0,62})*(?::[0-9]{1,5})?$/;
const ADDRESS = /^\[|^[0-9.]+(?::[0-9]+)?$/;

/** Which origin a request is for. Whatever could be read in two ways is refused. */
export function originOf({ scheme, serverName, method, target, headers }: BoxRequest): Origin {
  const values = (name: string): readonly string[] =>
    headers.filter(([each]) => each === name).map(([, value]) => value);
  const refused = (why: BoxRefusal): Origin => ({ kind: "refused", why });
  if (method === "CONNECT") return refused("connect");
  if (!target.startsWith("/")) return refused("whole_url");
  const hosts = values("host");
  if (hosts.length !== 1) return refused("host_fields");
  const host = (hosts[0] ?? "").toLowerCase();
  if (scheme === "https" && (ADDRESS.test(host) || serverName === null)) return refused("address");
  if (!HOST.test(host)) return refused("host");
  const [name = "", port] = host.split(":");
  if (scheme === "https" && serverName?.toLowerCase() !== name) return refused("other_name");
  if (values("upgrade").length > 0) return refused("upgrade");
  if (values("content-type").some((type) => type.toLowerCase().startsWith("application/grpc"))) return refused("grpc");
  const usual = scheme === "https" ? "443" : "80";
  return { kind: "origin", origin: `${scheme}://${name}${port === undefined || port === usual ? "" : `:${port}`}` };
}
