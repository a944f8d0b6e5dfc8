import {
  findUnsoundKeyline,
  type KeylineChoice,
  keylineDefaults,
  listHostSettings,
  writeKeyline,
} from "../../conventions/ssh/keyline.ts";
import type { ProbeResult } from "../../conventions/ssh/probe.ts";
import { readSshPublicLine, sshFingerprint } from "../../kernel/ssh-key.ts";
import { type CliIo, type Exit, exits } from "./io.ts";

/** `gw ssh`: how a host is made to trust one key for one thing, and whether it does no more than that. */
export interface KeylineOptions {
  readonly host: string;
  /** The credential's label and public half, as the gateway tells them. */
  readonly label: string;
  readonly publicKey: string;
  /** Which host the credential is bound to, and whom the host shall believe. */
  readonly hostKey: string;
  /** How many host keys it is bound to. */
  readonly boundTo: number;
  readonly gatewayKey: string;
  readonly user?: string;
  readonly node?: string;
  readonly receiver?: string;
  readonly manifest?: string;
  readonly from?: readonly string[];
  readonly expires?: string;
  readonly json?: boolean;
}

export function printKeyline(options: KeylineOptions, io: CliIo): Exit {
  const key = readSshPublicLine(options.publicKey);
  const choice: KeylineChoice = {
    publicKey: options.publicKey.split(" ").slice(0, 2).join(" "),
    label: options.label,
    user: options.user ?? keylineDefaults.user,
    node: options.node ?? keylineDefaults.node,
    receiver: options.receiver ?? keylineDefaults.receiver,
    manifest: options.manifest ?? keylineDefaults.manifest,
    from: options.from ?? [],
    expires: options.expires ?? null,
  };
  const unsound = key === undefined ? "public key" : findUnsoundKeyline(choice);
  if (key === undefined || unsound !== undefined) {
    io.err(`The ${unsound} cannot stand in an authorized_keys line. Give a plain value without quotes or spaces.`);
    return exits.usage;
  }
  const line = writeKeyline(choice);
  const pin = { gateway_key: options.gatewayKey, host_key: options.hostKey };
  const settings = listHostSettings(choice.user, choice.manifest, pin);
  if (options.json === true) {
    const fingerprint = sshFingerprint(key.blob);
    io.out(JSON.stringify({ host: options.host, fingerprint, keyline: line, ...pin, settings }));
    return exits.done;
  }
  io.out(line);
  io.out("");
  for (const { where, text, why } of settings) {
    io.out(`# ${where}: ${why}`);
    for (const each of text.split("\n")) io.out(each);
    io.out("");
  }
  const user = options.user === undefined ? "" : ` --user ${options.user}`;
  const bound = options.boundTo > 1 ? ` --host-key "${options.hostKey}"` : "";
  io.out(`# Then: gw ssh check ${options.host} --credential ${options.label}${user}${bound}`);
  io.out("# with --port where the host does not listen on 22.");
  return exits.done;
}

export interface CheckOptions {
  readonly host: string;
  readonly credential: string;
  readonly json?: boolean;
  /** Asks the gateway to try everything with the real key; see the SSH transport's `probeHost`. */
  readonly probe: () => Promise<readonly ProbeResult[]>;
}

const titles: Readonly<Record<ProbeResult["probe"], string>> = {
  run: "the receiver answers",
  try_command: "another command",
  try_sftp: "sftp",
  try_terminal: "a terminal",
  try_agent: "agent forwarding",
  try_environment: "variables of the client",
  try_local_forward: "a connection through the host",
  try_remote_forward: "a listener on the host",
};

/** Done only when the receiver answers and every other thing was seen to be refused. */
export async function checkHost(options: CheckOptions, io: Pick<CliIo, "out" | "err">): Promise<Exit> {
  const results = await options.probe();
  const rows = results.map((result) => ({ ...result, good: isGood(result) }));
  const good = rows.length > 0 && rows.every((row) => row.good);
  if (options.json === true) {
    for (const { probe, verdict, detail, good: ok } of rows)
      io.out(JSON.stringify({ probe, verdict, good: ok, detail }));
  } else {
    for (const { probe, verdict, detail, good: ok } of rows) {
      io.out(`${ok ? "ok  " : "BAD "} ${titles[probe].padEnd(30)} ${verdict.padEnd(10)} ${detail}`);
    }
    if (!good)
      io.err(
        `${options.host} allows more than it should, or could not be read. See: gw ssh keyline ${options.host} --credential ${options.credential}`,
      );
  }
  return good ? exits.done : exits.denied;
}

function isGood({ probe, verdict }: ProbeResult): boolean {
  return verdict === (probe === "run" ? "permitted" : "refused");
}
