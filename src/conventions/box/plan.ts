/**
 * The two boxes that there are. In the first every connection is caught, whatever tool makes it; that takes rights over its own
 * namespaces. Where those are denied bubblewrap makes the second: as closed, and tools find the way out by proxy variables.
 */
export const boxTiers = ["transparent", "bubblewrap"] as const;
export type BoxTier = (typeof boxTiers)[number];

/** What the wrapper tells the stage of a box, which builds it from the inside. */
export interface BoxPlan {
  readonly tier: BoxTier;
  /** Where the command starts; writable, as are the folders of `write`. */
  readonly folder: string;
  readonly write: readonly string[];
  /** Stays to be read where it lies below something that is covered. */
  readonly read: readonly string[];
  /** Folders that are empty inside, with room to write. */
  readonly cover: readonly string[];
  /** Folders that are empty inside, and stay so. */
  readonly hide: readonly string[];
  /** Ports that are served beside DNS, whatever the address. */
  readonly ports: readonly BoxListener[];
  /** Sockets of the outside by their paths. */
  readonly sockets: readonly string[];
  /** PEM: what the box trusts. */
  readonly certificate: string;
  readonly subjectHash: string;
  /** Base64: the same for Java. */
  readonly truststore: string;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export interface BoxListener {
  readonly scheme: "https" | "http";
  readonly port: number;
}

/** What the stage hands out, each with the socket itself. */
export type BoxSocket = "https" | "http" | "dns" | "proxy" | "agent";

export type StageMessage =
  | { readonly kind: "socket"; readonly socket: BoxSocket }
  | { readonly kind: "ready" }
  | { readonly kind: "failed"; readonly what: string; readonly code: string };

const DNS_PORT = 53;
const PORTS = 64;

/** The usual two, and those that the origins of packs name. */
export function portsOf(origins: readonly string[]): readonly BoxListener[] {
  const ports = new Map<number, BoxListener["scheme"]>([
    [443, "https"],
    [80, "http"],
  ]);
  for (const origin of origins) {
    const { protocol, port } = new URL(origin);
    if (port === "" || Number(port) === DNS_PORT || ports.has(Number(port)) || ports.size >= PORTS) continue;
    ports.set(Number(port), protocol === "https:" ? "https" : "http");
  }
  return [...ports].map(([port, scheme]) => ({ port, scheme }));
}

/** Inside, and nowhere else. */
export const boxFolder = "/run/gw";
export const boxCertificate = `${boxFolder}/ca.pem`;
export const boxTruststore = `${boxFolder}/ca.jks`;
export const boxAgentSocket = `${boxFolder}/agent.sock`;
/** Of a box of the second tier. Its loopback is its own, and so is the port. */
export const boxProxyPort = 3128;
export const boxProxy = `http://127.0.0.1:${boxProxyPort}`;
