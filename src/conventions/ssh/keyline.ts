import { PROBE_VARIABLE } from "./client-options.ts";

/**
 * What a host needs so that our key can do one thing there: the authorized_keys line, and the settings of server and
 * account that `restrict` does not cover.
 */
export interface KeylineChoice {
  /** `TYPE BASE64` of the credential's public half. */
  readonly publicKey: string;
  readonly label: string;
  readonly user: string;
  readonly node: string;
  readonly receiver: string;
  readonly manifest: string;
  /** Address patterns that may use the key; empty for any. */
  readonly from: readonly string[];
  /** `YYYYMMDD` or `YYYYMMDDHHMM`; null for no end. */
  readonly expires: string | null;
}

export const keylineDefaults = {
  user: "gw",
  node: "/usr/bin/node",
  receiver: "/usr/local/lib/gw-receiver/gw-receiver.mjs",
  manifest: "/etc/gw-receiver/manifest.json",
} as const;

/** The only variables that reach the receiver; it refuses what the last four say about its server. */
const PASSED = ["SSH_CONNECTION", "SSH_ORIGINAL_COMMAND", "SSH_TTY", "SSH_AUTH_SOCK", "DISPLAY", PROBE_VARIABLE];
const PATH = /^\/[A-Za-z0-9_./-]+$/;
const FROM = /^!?[A-Za-z0-9.:*?/-]{1,64}$/;
const EXPIRES = /^\d{8}(?:\d{4})?$/;
const USER = /^[a-z_][a-z0-9_-]{0,31}$/;
const LABEL = /^[A-Za-z0-9._-]{1,64}$/;

/** Names the first choice that could break out of its place in the line; undefined when all are sound. */
export function findUnsoundKeyline(choice: KeylineChoice): string | undefined {
  if (![choice.node, choice.receiver, choice.manifest].every((path) => PATH.test(path))) return "path";
  if (!choice.from.every((pattern) => FROM.test(pattern))) return "from";
  if (choice.expires !== null && !EXPIRES.test(choice.expires)) return "expires";
  if (!USER.test(choice.user)) return "user";
  return LABEL.test(choice.label) ? undefined : "label";
}

export function writeKeyline(choice: KeylineChoice): string {
  const variables = PASSED.map((name) => `\\"${name}=$${name}\\"`).join(" ");
  const manifest = choice.manifest === keylineDefaults.manifest ? "" : ` --manifest ${choice.manifest}`;
  const command = `exec /usr/bin/env -i ${variables} ${choice.node} ${choice.receiver}${manifest}`;
  const options = ["restrict"];
  if (choice.from.length > 0) options.push(`from="${choice.from.join(",")}"`);
  if (choice.expires !== null) options.push(`expiry-time="${choice.expires}"`);
  options.push(`command="${command}"`);
  return `${options.join(",")} ${choice.publicKey} gw:${choice.label}`;
}

export interface HostSetting {
  readonly where: string;
  readonly text: string;
  readonly why: string;
}

/** Members of the manifest that make a host believe one gateway, and that gateway's requests to this host only. */
export interface ManifestPin {
  readonly gateway_key: string;
  readonly host_key: string;
}

/** In the order in which a person does them. */
export function listHostSettings(user: string, manifest: string, pin: ManifestPin): HostSetting[] {
  const keys = `/etc/ssh/authorized_keys.d/${user}`;
  return [
    {
      where: "as root",
      text: `useradd --system --create-home --shell /bin/sh ${user} && usermod -p '*' ${user}`,
      why: "An account of its own, without a password. sshd hands the forced command to the login shell, so it must be a plain sh.",
    },
    {
      where: "as root",
      text: `install -d -m 0700 -o ${user} -g ${user} /var/lib/gw-receiver`,
      why: "The receiver writes what it starts and ends there, and nobody else.",
    },
    {
      where: manifest,
      text: Object.entries(pin)
        .map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)},`)
        .join("\n"),
      why: "With these two a request must be signed by this gateway, for this host: a stolen SSH key alone can do nothing.",
    },
    {
      where: keys,
      text: "the key line above, in a file that belongs to root, mode 0644, in a folder that belongs to root, mode 0755",
      why: "In the account's own folder the account could add other keys.",
    },
    // sshd takes PermitUserEnvironment nowhere behind a Match, and then does not start.
    {
      where: "/etc/ssh/sshd_config, above every Match",
      text: "AcceptEnv LANG LC_*\nPermitUserEnvironment no",
      why: "A server that takes any variable lets the client bend the shell before our command runs. `restrict` does not cover it. AcceptEnv lines add up: take wider ones out.",
    },
    {
      where: "/etc/ssh/sshd_config, at its end",
      text: [
        `Match User ${user}`,
        `    AuthorizedKeysFile ${keys}`,
        "    AuthenticationMethods publickey",
        "    DisableForwarding yes",
        "    PermitTunnel no",
        "    PermitTTY no",
        "    PermitUserRC no",
        "    MaxSessions 1",
      ].join("\n"),
      why: "The same walls once more in the server, for the day when the line is edited; PermitTunnel is not part of `restrict`.",
    },
    {
      where: "as root",
      text: "sshd -t && systemctl reload ssh",
      why: "The server reads its settings anew, once they are sound (the unit is sshd on some systems). Keep the session that you are in until another one opens.",
    },
  ];
}
