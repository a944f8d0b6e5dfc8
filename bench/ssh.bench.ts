import { spawn } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { missingForSshd, SSH } from "../demo/host/sshd.ts";
import { createSshTransport, type SshTransport } from "../src/adapters/transport/ssh/transport.ts";
import { nextRequestId, receipt, type Stand, standInAccount, startStand, writeProgram } from "../test/ssh-stand.ts";
import { type Bench, median, type Row } from "./bench.ts";

/** One operation on a host, from nothing to its last frame, beside the plain client with the same key in a file. */
const ROUNDS = 25;
const SETTLE_MS = 150;

export const bench: Bench = {
  name: "ssh",
  // A process of its own: sshd needs an account, and as root there is none that would prove anything.
  run: (emit) =>
    new Promise((resolve, reject) => {
      const child = spawn(process.execPath, [...process.execArgv, import.meta.filename], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      let text = "";
      child.stdout.on("data", (chunk: Buffer) => {
        text += chunk.toString("utf8");
      });
      child.on("error", reject);
      child.on("close", (status) => {
        if (status !== 0) return reject(new Error(`the SSH bench ended with ${status}`));
        for (const line of text.trim().split("\n")) if (line !== "") emit(JSON.parse(line) as Row);
        resolve();
      });
    }),
};

if (import.meta.main) {
  standInAccount(import.meta.filename);
  const missing = missingForSshd();
  if (missing === null) await measure((row) => console.log(JSON.stringify(row)));
  else console.error(`ssh: skipped, ${missing}`);
}

async function measure(emit: (row: Row) => void): Promise<void> {
  const stand = await startStand({ operations: { release_status: { executable: "/bin/true" } } });
  try {
    const key = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
    const keyFile = join(stand.folder, "id");
    writeFileSync(keyFile, key.export({ type: "pkcs8", format: "pem" }), { mode: 0o600 });
    writeFileSync(join(stand.folder, "known"), `[127.0.0.1]:${stand.port} ${stand.hostKey}\n`);
    const signer = stand.allow(key, stand.receiverCommand);
    const limits = { timeoutMs: 60_000, responseBytes: 65_536, signal: new AbortController().signal };
    const warm = createSshTransport(stand.options({ spareHelperMs: 60_000 }));
    const cold = createSshTransport(stand.options({ spareHelperMs: 0 }));
    const ours = (transport: SshTransport) => async () => {
      const seen = await transport.send(receipt, stand.target(), signer, limits);
      if (seen.kind !== "answered" || seen.status !== 0) throw new Error(JSON.stringify(seen));
    };
    const jobs = { plain: () => runPlain(stand, keyFile), warm: ours(warm), cold: ours(cold) };
    const times: Record<keyof typeof jobs, number[]> = { plain: [], warm: [], cold: [] };
    for (let round = -3; round < ROUNDS; round++) {
      for (const name of ["plain", "warm", "cold"] as const) {
        // The next helper is started after a call: that must cost neither us nor the peer.
        await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
        const ms = await timed(jobs[name]);
        if (round >= 0) times[name].push(ms);
      }
    }
    warm.close();
    const plain = median(times.plain);
    const beside = `plain ssh with a key file ${plain.toFixed(1)} ms`;
    const row = (name: string, value: number): Row => ({ case: name, value, unit: "ms", beside, ratio: value / plain });
    emit(row("connect and run, p50", median(times.warm)));
    emit(row("connect and run without a helper ready, p50", median(times.cold)));
    emit(await measureMemory(stand));
  } finally {
    await stand.stop();
  }
}

async function timed(work: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

function runPlain(stand: Stand, keyFile: string): Promise<void> {
  const options = ["-oBatchMode=yes", "-oIdentitiesOnly=yes", `-oUserKnownHostsFile=${join(stand.folder, "known")}`];
  const words = [
    "-F",
    "none",
    "-T",
    ...options,
    "-i",
    keyFile,
    "-p",
    String(stand.port),
    "-l",
    stand.user,
    "127.0.0.1",
  ];
  return new Promise((resolve, reject) => {
    const child = spawn(SSH, [...words, "gw-receiver"], { stdio: ["pipe", "pipe", "ignore"], env: {} });
    let text = "";
    child.stdout.on("data", (chunk: Buffer) => {
      text += chunk.toString("latin1");
    });
    child.on("close", () =>
      text.includes('"exit_status":0') ? resolve() : reject(new Error(`plain ssh did not finish: ${text}`)),
    );
    child.stdin.end(JSON.stringify({ action: "release_status", request_id: nextRequestId() }));
  });
}

/** Proportional set size: what would be free again if the process ended. */
async function measureMemory(stand: Stand): Promise<Row> {
  const held = writeProgram(stand, "held", "sleep 20");
  const signer = stand.allow(generateKeyPairSync("ed25519").privateKey, held);
  const stop = new AbortController();
  const sent = stand.send(signer, {}, { limits: { signal: stop.signal } });
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  const helper = pssOf((words) => words.some((word) => word.endsWith("gw-ssh.mjs")));
  const client = pssOf((words) => words[0] === SSH);
  stop.abort();
  await sent;
  const beside = `the ssh client under it ${client.toFixed(1)} MB`;
  return { case: "memory of gw-ssh during a call", value: helper, unit: "MB", beside, ratio: helper / client };
}

function pssOf(wanted: (words: readonly string[]) => boolean): number {
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      if (!wanted(readFileSync(`/proc/${pid}/cmdline`, "latin1").split("\0"))) continue;
      const found = /^Pss:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "latin1"));
      if (found?.[1] !== undefined) return Number(found[1]) / 1024;
    } catch {
      // Another user's process, or one that has just ended.
    }
  }
  return Number.NaN;
}
