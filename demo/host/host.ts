import { generateKeyPairSync } from "node:crypto";
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { findUnsoundKeyline, keylineDefaults, writeKeyline } from "../../src/conventions/ssh/keyline.ts";
import { MANIFEST_FORMAT } from "../../src/conventions/ssh/manifest.ts";
import { Secret } from "../../src/kernel/secret.ts";
import { decodeSshPublicKey, encodeSshPublicKey, writeSshPublicLine } from "../../src/kernel/ssh-key.ts";
import { missingForSshd, type PrivateSshd, startSshd } from "./sshd.ts";

/** The host of the demo: this machine, behind a server of its own, with the real receiver as the forced command. */
export interface DemoHost {
  readonly server: PrivateSshd;
  /** Everything that the host has on disk. */
  readonly folder: string;
  readonly pack: Buffer;
  /** The private half, which goes to the vault and nowhere else. */
  readonly key: Secret;
  /** Lends the secret part of the key, to look for it where it must not be. */
  useSeed<Result>(look: (seed: Buffer) => Result): Result;
  /** From now on the host believes this gateway alone. */
  pin(gatewayKey: string): void;
  /** What its worker program has done, one line a run. */
  worked(): readonly string[];
  /** Lets an operation that waits go on. */
  letGo(): void;
  close(): Promise<void>;
}

/** The label of the credential and the name of the pack. */
export const HOST = "host";

/** A text says why there is no host to play with. */
export async function startDemoHost(): Promise<DemoHost | string> {
  const missing = missingForSshd();
  if (missing !== null) return missing;
  const folder = mkdtempSync(join(tmpdir(), "gw-demo-host-"));
  const at = (name: string) => join(folder, name);
  const remove = () => rmSync(folder, { recursive: true, force: true });
  let server: PrivateSshd | undefined;
  try {
    server = await startSshd(folder);
    const standing = server;
    const { key, publicKey } = drawKey();
    mkdirSync(at("state"), { mode: 0o700 });
    writeFileSync(at("worked"), "", { mode: 0o600 });
    const node = program(at("node"), `exec "${process.execPath}" "$@" --trust-own-files`);
    const choice = { ...keylineDefaults, publicKey, label: HOST, from: ["127.0.0.1"], expires: null };
    const places = { node, receiver: receiverFile(), manifest: at("manifest.json") };
    const line = { ...choice, ...places };
    const unsound = findUnsoundKeyline(line);
    if (unsound !== undefined) throw new Error(`a ${unsound} of this machine cannot stand in a key line`);
    appendFileSync(server.authorizedKeys, `${writeKeyline(line)}\n`);
    const operations = operationsIn(folder);
    return {
      server: standing,
      folder,
      pack: packFor(server),
      key,
      useSeed: (look) => key.use((pem) => look(seedOf(pem.toString("latin1")))),
      pin: (gatewayKey) => {
        const pin = { gateway_key: gatewayKey, host_key: standing.hostKey };
        const manifest = { format: MANIFEST_FORMAT, state: at("state"), ...pin, operations };
        writeFileSync(at("manifest.json"), JSON.stringify(manifest), { mode: 0o600 });
      },
      worked: () => readFileSync(at("worked"), "utf8").split("\n").slice(0, -1),
      letGo: () => writeFileSync(at("let-go"), ""),
      async close() {
        key.wipe();
        await standing.stop();
        remove();
      },
    };
  } catch (error) {
    await server?.stop();
    remove();
    return error instanceof Error ? error.message : String(error);
  }
}

function operationsIn(folder: string): object {
  const at = (name: string) => join(folder, name);
  const status = { release_id: "r41", phase: "active", active_revision: "9f1c", migration_version: "7" };
  const worker = { first: "a-z", characters: "a-z0-9-", max: 32 };
  const drain = `echo "drain $1" >> ${at("worked")}; while [ ! -e ${at("let-go")} ]; do sleep 0.1; done`;
  return {
    release_status: {
      executable: program(at("release-status"), `echo '${JSON.stringify(status)}'`),
      arguments: ["--json"],
    },
    restart_worker: {
      executable: program(at("restart-worker"), `echo "restart $1" >> ${at("worked")}; echo "restarted $1"`),
      arguments: [{ field: "worker" }],
      fields: { worker },
    },
    drain_worker: {
      executable: program(at("drain-worker"), drain),
      arguments: [{ field: "worker" }],
      fields: { worker },
    },
  };
}

function packFor({ port, user, hostKey }: PrivateSshd): Buffer {
  const ssh = (action: string) =>
    `{ host: 127.0.0.1, port: ${port}, user: ${user}, host_key: "${hostKey}", credential: ${HOST}, action: ${action} }`;
  // Wider than the host's own grammar, so that it is the host that says no.
  const input = `{ worker: { type: string, pattern: "^[^!]+$", maxLength: 64 } }`;
  return Buffer.from(`format: gw.pack/v1
pack: ${HOST}
actions:
  release.status:
    effect: read
    ssh: ${ssh("release_status")}
  worker.restart:
    effect: write
    ssh: ${ssh("restart_worker")}
    input: ${input}
  worker.drain:
    effect: write
    ssh: ${ssh("drain_worker")}
    input: ${input}
`);
}

function drawKey(): { readonly key: Secret; readonly publicKey: string } {
  const { privateKey } = generateKeyPairSync("ed25519");
  const half = decodeSshPublicKey(encodeSshPublicKey(privateKey) ?? Buffer.alloc(0));
  if (half === undefined) throw new Error("an Ed25519 key has no form as an SSH key");
  const pem = privateKey.export({ format: "pem", type: "pkcs8" });
  return { key: Secret.fromText(pem.toString()), publicKey: writeSshPublicLine(half) };
}

/** RFC 8410: the seed is the end of the PKCS8 form. */
function seedOf(pem: string): Buffer {
  const lines = pem.split("\n").filter((line) => !line.startsWith("-----"));
  return Buffer.from(lines.join(""), "base64").subarray(-32);
}

function program(path: string, script: string): string {
  writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o700 });
  return path;
}

function receiverFile(): string {
  const programs = resolve(import.meta.dirname, "../../src/programs");
  return join(programs, import.meta.filename.endsWith(".ts") ? "gw-receiver.ts" : "gw-receiver.js");
}
