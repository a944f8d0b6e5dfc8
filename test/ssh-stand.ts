import { spawnSync } from "node:child_process";
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import {
  accessSync,
  appendFileSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { SSH, SSHD, startSshd } from "../demo/host/sshd.ts";
import { bundle } from "../scripts/bundle.ts";
import { programOf } from "../scripts/suite/players.ts";
import type { SshTransportOptions } from "../src/adapters/transport/ssh/options.ts";
import { createSshTransport } from "../src/adapters/transport/ssh/transport.ts";
import type { TransportObservation } from "../src/conventions/outcome/observation.ts";
import type { OutboundSsh, SshSigner } from "../src/conventions/ssh/outbound.ts";
import type { IntentReceipt, SendLimits } from "../src/gateway/ports.ts";
import type { Sleep } from "../src/kernel/clock.ts";
import { decodeSshPublicKey, encodeSshPublicKey, signSsh, writeSshPublicLine } from "../src/kernel/ssh-key.ts";
import { GW } from "./support/home.ts";

/** A real sshd on a loopback port, a real client, a real receiver: what the SSH tests and the bench stand on. */
const root = dirname(import.meta.dirname);
const UNPRIVILEGED = 64123;
export const ACCOUNT = "gwtest";

/**
 * sshd and ssh need the uid to be in the password file, and root would prove nothing. As root this runs the file again as
 * an unprivileged uid, in a mount namespace where a private password file names it and the clone is readable, and ends
 * with its status. Everybody else stays who they are. `prepare` may write, as root and into the folder given to it, what
 * that namespace shows in other places; the machine's own files are not touched.
 */
export function standInAccount(file: string, prepare: (folder: string) => readonly Shown[] = () => []): void {
  if (process.getuid?.() !== 0 || !existsSync(SSHD)) return;
  const home = mkdtempSync(join(tmpdir(), "gw-ssh-home-"));
  const passwd = join(home, "passwd");
  const clone = join(home, "clone");
  mkdirSync(clone);
  const account = `${ACCOUNT}:x:${UNPRIVILEGED}:${UNPRIVILEGED}::${home}:/bin/sh`;
  writeFileSync(passwd, `${account}\n${readFileSync("/etc/passwd", "utf8")}`, { mode: 0o644 });
  spawnSync("chown", [`${UNPRIVILEGED}:${UNPRIVILEGED}`, home]);
  const shown = [...prepare(home), { from: passwd, at: "/etc/passwd" }, { from: root, at: clone }];
  const mounts = shown.map((_, index) => `mount --bind "\${${2 * index + 1}}" "\${${2 * index + 2}}"`);
  const script = `${mounts.join(" && ")} && cd "\${${2 * shown.length}}" && shift ${2 * shown.length} && exec "$@"`;
  const places = shown.flatMap(({ from, at }) => [from, at]);
  const drop = ["setpriv", `--reuid=${UNPRIVILEGED}`, `--regid=${UNPRIVILEGED}`, "--clear-groups"];
  const inClone = (path: string) => (path.startsWith(`${root}/`) ? join(clone, relative(root, path)) : path);
  // What is loaded before the file tells where the clone stands: the file's sources come from the suite's one file only below that.
  const first = process.execArgv.map((word) => word.replace(`=${root}/`, `=${clone}/`));
  const program = [inClone(process.execPath), ...first, inClone(file)];
  const place = ["--mount", "--propagation=private", "sh", "-c", script, "sh", ...places];
  const env = { ...process.env, HOME: home, USER: ACCOUNT, LOGNAME: ACCOUNT };
  const done = spawnSync("unshare", [...place, ...drop, ...program], { stdio: "inherit", env });
  // The clone was mounted in the other namespace only; if it were here, this would refuse instead of emptying it.
  rmdirSync(clone);
  rmSync(home, { recursive: true, force: true, maxRetries: 10 });
  process.exit(done.status ?? 1);
}

/** A file or folder, and where the namespace of the test shows it. */
export interface Shown {
  readonly from: string;
  readonly at: string;
}

export function keySigner(privateKey: KeyObject): SshSigner {
  const publicKeyBlob = encodeSshPublicKey(privateKey);
  if (publicKeyBlob === undefined) throw new Error("not an SSH key");
  return {
    publicKeyBlob,
    sign(data, flags) {
      const signature = signSsh(privateKey, data, flags);
      if (signature === undefined) throw new Error("refused");
      return signature;
    },
  };
}

export function ed25519(): KeyObject {
  return generateKeyPairSync("ed25519").privateKey;
}

export function publicLine(signer: SshSigner): string {
  const key = decodeSshPublicKey(signer.publicKeyBlob);
  if (key === undefined) throw new Error("not an SSH key");
  return writeSshPublicLine(key);
}

export interface Stand {
  readonly folder: string;
  readonly port: number;
  readonly user: string;
  readonly hostKey: string;
  readonly sshdPid: number;
  /** Ends every connection without a word. */
  cut(): void;
  readonly receiver: string;
  readonly manifest: string;
  readonly state: string;
  /** `restrict,command="…" KEY` for a new key, or the options given. */
  allow(key: KeyObject, command: string, options?: string): SshSigner;
  /** From now on the host takes the requests of this gateway only. */
  pin(gatewayKey: string): void;
  /** The command that the key line has for the real receiver. */
  readonly receiverCommand: string;
  target(more?: Partial<OutboundSsh>): OutboundSsh;
  send(
    signer: SshSigner,
    request?: Partial<OutboundSsh>,
    more?: { readonly limits?: Partial<SendLimits>; readonly options?: Partial<SshTransportOptions> },
  ): Promise<TransportObservation>;
  options(more?: Partial<SshTransportOptions>): SshTransportOptions;
  stop(): Promise<void>;
}

export const realSleep: Sleep = {
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      signal?.addEventListener("abort", () => {
        clearTimeout(timer);
        resolve();
      });
    }),
};

/** The real log mints these; the SSH side only needs one to exist. */
export const receipt = { frame: 1n, at: 0 } as unknown as IntentReceipt;

let requests = 0;
export function nextRequestId(): string {
  requests++;
  return `call_test${process.pid}x${String(requests).padStart(6, "0")}`;
}

export interface StandSettings {
  readonly hostKeyType?: "ed25519" | "ecdsa" | "rsa";
  readonly operations: object;
  readonly environment?: object;
  readonly sshdLines?: readonly string[];
  readonly node?: string;
}

/** Client and server take a tenth of a second more for what they agree on by themselves; the demo's server lets them. */
const CHEAP_KEYS = "KexAlgorithms curve25519-sha256";

/** The one file that goes to a host: as the suite compiled it, or else made of the sources. */
function receiverFile(): string | Buffer {
  const product = dirname(dirname(realpathSync(GW)));
  return existsSync(join(product, "src"))
    ? bundle(join(root, "src/programs/gw-receiver.ts"), "test")
    : readFileSync(join(product, "dist", "gw-receiver.mjs"));
}

export async function startStand(settings: StandSettings): Promise<Stand> {
  const folder = mkdtempSync(join(tmpdir(), "gw-ssh-"));
  const at = (name: string) => join(folder, name);
  const { hostKeyType = "ed25519", sshdLines: lines = [] } = settings;
  const sshd = await startSshd(folder, { hostKeyType, lines: [CHEAP_KEYS, ...lines] });
  const { port, user, hostKey } = sshd;
  writeFileSync(at("receiver.mjs"), receiverFile(), { mode: 0o700 });
  // By a name that no other stand's helpers have.
  symlinkSync(programOf(GW, "gw-ssh"), at("gw-ssh.mjs"));
  const state = at("state");
  mkdirSync(state, { mode: 0o700 });
  const manifest = at("manifest.json");
  const { environment, operations } = settings;
  const writeManifest = (pin: object): void => {
    const fixed = { format: "gw.receiver-manifest/v1", state, ...(environment === undefined ? {} : { environment }) };
    writeFileSync(manifest, JSON.stringify({ ...fixed, ...pin, operations }), { mode: 0o600 });
  };
  writeManifest({});
  const node = settings.node ?? process.execPath;
  const receiverCommand = receiverLine(node, at("receiver.mjs"), manifest);
  mkdirSync(at("run"), { mode: 0o700 });
  const options = (more: Partial<SshTransportOptions> = {}): SshTransportOptions => ({
    folder: at("run"),
    helper: { command: process.execPath, arguments: ["--disable-sigusr1", at("gw-ssh.mjs")] },
    spareHelperMs: 0,
    sshPath: SSH,
    clock: { bootMs: () => performance.now() },
    sleep: realSleep,
    connectTimeoutMs: 30_000,
    signRequest: null,
    recorder: null,
    recordingBytes: 65_536,
    ...more,
  });
  const target = (more: Partial<OutboundSsh> = {}): OutboundSsh => ({
    host: "127.0.0.1",
    port,
    user,
    hostKey,
    action: "release_status",
    fields: {},
    requestId: nextRequestId(),
    recording: "off",
    ...more,
  });
  return {
    folder,
    port,
    user,
    hostKey,
    sshdPid: sshd.pid,
    cut: sshd.cut,
    receiver: at("receiver.mjs"),
    manifest,
    state,
    receiverCommand,
    allow(key, command, keyOptions = "restrict") {
      const signer = keySigner(key);
      const quoted = command.replaceAll('"', '\\"');
      appendFileSync(sshd.authorizedKeys, `${keyOptions},command="${quoted}" ${publicLine(signer)}\n`);
      return signer;
    },
    pin: (gatewayKey) => writeManifest({ gateway_key: gatewayKey, host_key: hostKey }),
    target,
    options,
    send(signer, request = {}, more = {}) {
      const limits = { timeoutMs: 60_000, responseBytes: 65_536, signal: new AbortController().signal, ...more.limits };
      return createSshTransport(options(more.options)).send(receipt, target(request), signer, limits);
    },
    async stop() {
      await sshd.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** As `gw ssh keyline` prints it, but for files of the tester's own. */
function receiverLine(node: string, receiver: string, manifest: string): string {
  const passed = [
    "SSH_ORIGINAL_COMMAND",
    "SSH_TTY",
    "SSH_AUTH_SOCK",
    "DISPLAY",
    "SSH_CONNECTION",
    "GW_ENVIRONMENT_PROBE",
  ];
  const variables = passed.map((name) => `"${name}=$${name}"`).join(" ");
  return `exec /usr/bin/env -i ${variables} ${node} ${receiver} --manifest ${manifest} --trust-own-files`;
}

export function writeProgram(stand: Pick<Stand, "folder">, name: string, script: string): string {
  const path = join(stand.folder, name);
  writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o700 });
  accessSync(path, constants.X_OK);
  return path;
}
