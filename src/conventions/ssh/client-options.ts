import type { SshKeyType } from "../../kernel/ssh-key.ts";

/**
 * The whole command line of the OpenSSH client. No configuration file is read, so what is not pinned here has the
 * client's built-in default; everything that could run something, forward something or ask somebody is pinned off.
 * File names are relative: the client runs in a private folder, so no path of the machine needs quoting.
 */
export interface ClientPlan {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly hostKeyType: SshKeyType;
  readonly userKeyType: SshKeyType;
  readonly connectTimeoutS: number;
  readonly mode: ClientMode;
}

/** What the gateway tells gw-ssh, as one line of JSON. */
export interface ClientOrder {
  readonly sshPath: string;
  /** Holds the files of `privateFiles`; the client runs there. */
  readonly folder: string;
  readonly plan: ClientPlan;
}

/** `run` is a call. The others try what a host must refuse; `gw ssh check` uses them and nothing else does. */
export const clientModes = [
  "run",
  "try_command",
  "try_terminal",
  "try_sftp",
  "try_agent",
  "try_environment",
  "try_local_forward",
  "try_remote_forward",
] as const;
export type ClientMode = (typeof clientModes)[number];

export const privateFiles = { agent: "agent.sock", knownHosts: "known_hosts", publicKey: "key.pub" } as const;
export const RECEIVER_COMMAND = "gw-receiver";
const HOST_ALIAS = "gw-pinned";
const KEEP_ALIVE_S = 5;
const KEEP_ALIVE_COUNT = 3;
const HOST_NAME = /^[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/;
const IPV6 = /^[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}$/;
const USER = /^[A-Za-z_][A-Za-z0-9_.-]{0,31}$/;

/** Names the first part of a plan that could be read as anything but itself; undefined when it is sound. */
export function findUnsoundPlan(plan: ClientPlan): string | undefined {
  if (!HOST_NAME.test(plan.host) && !IPV6.test(plan.host)) return "host";
  if (!Number.isInteger(plan.port) || plan.port < 1 || plan.port > 65_535) return "port";
  if (!USER.test(plan.user)) return "user";
  if (!Number.isInteger(plan.connectTimeoutS) || plan.connectTimeoutS < 1) return "connect timeout";
  return clientModes.includes(plan.mode) ? undefined : "mode";
}

export function writeKnownHosts(hostKeyLine: string): string {
  return `${HOST_ALIAS} ${hostKeyLine}\n`;
}

export function clientArguments(plan: ClientPlan): string[] {
  const pinned = Object.entries(pinnedOptions(plan)).map(([name, value]) => `-o${name}=${value}`);
  const mode = modeArguments(plan);
  return ["-F", "none", ...pinned, ...mode.options, "-p", String(plan.port), "--", plan.host, ...mode.command];
}

function pinnedOptions(plan: ClientPlan): Readonly<Record<string, string>> {
  return {
    // Clients before 9.2 do not have these; every other name must be known, or the client stops.
    IgnoreUnknown: "EnableEscapeCommandline,RequiredRSASize,GSSAPI*,ObscureKeystrokeTiming,ChannelTimeout",
    User: plan.user,
    BatchMode: "yes",
    NumberOfPasswordPrompts: "0",
    PreferredAuthentications: "publickey",
    PubkeyAuthentication: "yes",
    PubkeyAcceptedAlgorithms: signatureAlgorithms(plan.userKeyType),
    PasswordAuthentication: "no",
    KbdInteractiveAuthentication: "no",
    HostbasedAuthentication: "no",
    GSSAPIAuthentication: "no",
    GSSAPIDelegateCredentials: "no",
    GSSAPIKeyExchange: "no",
    EnableSSHKeysign: "no",
    IdentityAgent: privateFiles.agent,
    IdentityFile: privateFiles.publicKey,
    IdentitiesOnly: "yes",
    AddKeysToAgent: "no",
    PKCS11Provider: "none",
    SecurityKeyProvider: "/nonexistent",
    StrictHostKeyChecking: "yes",
    UserKnownHostsFile: privateFiles.knownHosts,
    GlobalKnownHostsFile: "none",
    KnownHostsCommand: "none",
    HostKeyAlias: HOST_ALIAS,
    HostKeyAlgorithms: signatureAlgorithms(plan.hostKeyType),
    CASignatureAlgorithms: "ssh-ed25519",
    CheckHostIP: "no",
    NoHostAuthenticationForLocalhost: "no",
    UpdateHostKeys: "no",
    VerifyHostKeyDNS: "no",
    HashKnownHosts: "no",
    RevokedHostKeys: "none",
    RequiredRSASize: "2048",
    CanonicalizeHostname: "no",
    ProxyCommand: "none",
    ProxyJump: "none",
    ProxyUseFdpass: "no",
    ControlMaster: "no",
    ControlPath: "none",
    ControlPersist: "no",
    ForwardAgent: plan.mode === "try_agent" ? "yes" : "no",
    ForwardX11: "no",
    ForwardX11Trusted: "no",
    ClearAllForwardings: plan.mode === "try_remote_forward" ? "no" : "yes",
    ExitOnForwardFailure: "yes",
    GatewayPorts: "no",
    Tunnel: "no",
    StreamLocalBindUnlink: "no",
    PermitLocalCommand: "no",
    PermitRemoteOpen: "none",
    EscapeChar: "none",
    EnableEscapeCommandline: "no",
    ForkAfterAuthentication: "no",
    StdinNull: "no",
    SyslogFacility: "USER",
    // Below this the client does not say why a negotiation failed. Its words choose a reason, see evidence.ts.
    LogLevel: "INFO",
    VisualHostKey: "no",
    Compression: "no",
    AddressFamily: "any",
    ConnectionAttempts: "1",
    ConnectTimeout: String(plan.connectTimeoutS),
    TCPKeepAlive: "yes",
    ServerAliveInterval: String(KEEP_ALIVE_S),
    ServerAliveCountMax: String(KEEP_ALIVE_COUNT),
    RequestTTY: plan.mode === "try_terminal" ? "force" : "no",
  };
}

function modeArguments(plan: ClientPlan): { readonly options: readonly string[]; readonly command: readonly string[] } {
  const receiver = [RECEIVER_COMMAND];
  switch (plan.mode) {
    case "run":
    case "try_terminal":
    case "try_agent":
      return { options: [], command: receiver };
    case "try_command":
      return { options: [], command: ["id"] };
    case "try_sftp":
      return { options: ["-oSessionType=subsystem"], command: ["sftp"] };
    case "try_environment":
      return { options: [`-oSetEnv=${PROBE_VARIABLE}=1`], command: receiver };
    case "try_local_forward":
      return { options: ["-W", `127.0.0.1:${plan.port}`], command: [] };
    case "try_remote_forward":
      return { options: ["-oSessionType=none", "-R", "127.0.0.1:0:127.0.0.1:9"], command: [] };
  }
}

/** No server setting names this variable, so a receiver that sees it knows that its server takes any. */
export const PROBE_VARIABLE = "GW_ENVIRONMENT_PROBE";

function signatureAlgorithms(type: SshKeyType): string {
  return type === "ssh-rsa" ? "rsa-sha2-512,rsa-sha2-256" : type;
}
