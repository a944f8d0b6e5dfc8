import { truststoreWord } from "../../conventions/box/java-truststore.ts";
import {
  type BoxTier,
  boxCertificate,
  boxFolder,
  boxProxy,
  boxProxyPort,
  boxTruststore,
} from "../../conventions/box/plan.ts";

/** Lead to programs that are not in the box, or past the way out. */
const DROPPED =
  /^(?:(?:https?|all|no|ftp)_proxy|SSH_AUTH_SOCK|SSH_AGENT_PID|DBUS_SESSION_BUS_ADDRESS|XDG_RUNTIME_DIR|DISPLAY|WAYLAND_DISPLAY|GPG_AGENT_INFO|DOCKER_HOST|GW_.*)$/i;

/** Each is read by tools that look nowhere else. */
const TRUST = [
  "SSL_CERT_FILE",
  "CURL_CA_BUNDLE",
  "REQUESTS_CA_BUNDLE",
  "GIT_SSL_CAINFO",
  "NODE_EXTRA_CA_CERTS",
  "PIP_CERT",
  "AWS_CA_BUNDLE",
  "DENO_CERT",
  "NIX_SSL_CERT_FILE",
  "CARGO_HTTP_CAINFO",
  "NPM_CONFIG_CAFILE",
] as const;

const JAVA = [
  `-Djavax.net.ssl.trustStore=${boxTruststore}`,
  "-Djavax.net.ssl.trustStoreType=JKS",
  `-Djavax.net.ssl.trustStorePassword=${truststoreWord}`,
];

/** Java looks into no variable for a proxy, and past one for this machine itself. */
const JAVA_PROXY = ["http", "https"].flatMap((scheme) => [
  `-D${scheme}.proxyHost=127.0.0.1`,
  `-D${scheme}.proxyPort=${boxProxyPort}`,
  "-Dhttp.nonProxyHosts=",
]);

/** The person's own environment, as far as it leads somewhere inside; where tools look for a token stands one that opens nothing. */
export function boxEnvironment(
  tier: BoxTier,
  outer: NodeJS.ProcessEnv,
  runId: string,
  tokenVariables: readonly string[],
  placeholder: string,
): Record<string, string> {
  const kept = Object.entries(outer).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !DROPPED.test(entry[0]),
  );
  return {
    ...Object.fromEntries(kept),
    ...Object.fromEntries(TRUST.map((name) => [name, boxCertificate])),
    ...Object.fromEntries(tokenVariables.map((name) => [name, placeholder])),
    ...(tier === "transparent" ? {} : proxyVariables(boxProxy)),
    JAVA_TOOL_OPTIONS: [outer["JAVA_TOOL_OPTIONS"], ...JAVA, ...(tier === "transparent" ? [] : JAVA_PROXY)]
      .filter(Boolean)
      .join(" "),
    TMPDIR: "/tmp",
    XDG_CACHE_HOME: "/tmp/.cache",
    NPM_CONFIG_CACHE: "/tmp/.npm",
    GW_HOME: boxFolder,
    GW_RUN: runId,
  };
}

/** The same for tools that are in no box: they are asked to use a proxy, and could leave it. */
export function proxyEnvironment(
  outer: NodeJS.ProcessEnv,
  certificate: string,
  proxy: string,
  tokenVariables: readonly string[],
  placeholder: string,
): Record<string, string> {
  const kept = Object.entries(outer).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !PROXIES.test(entry[0]),
  );
  return {
    ...Object.fromEntries(kept),
    ...Object.fromEntries(TRUST.map((name) => [name, certificate])),
    ...Object.fromEntries(tokenVariables.map((name) => [name, placeholder])),
    ...proxyVariables(proxy),
  };
}

function proxyVariables(proxy: string): Record<string, string> {
  const names = ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"];
  return { ...Object.fromEntries(names.map((name) => [name, proxy])), NODE_USE_ENV_PROXY: "1" };
}

const PROXIES = /^(?:https?|all|no|ftp)_proxy$/i;
