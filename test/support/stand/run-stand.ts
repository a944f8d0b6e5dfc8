import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeFolder, within } from "../home.ts";

export interface Ran {
  readonly command: string;
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface StandEnd {
  readonly ended: number;
  readonly refusals: string;
  /** Whether a provider was ever shown anything but its own credential. */
  readonly foreign: boolean;
  /** Versions that npm published. */
  readonly published: readonly string[];
}

/** What the stand's provider is known as, on a machine on which these names lead nowhere else. */
const NAMES = "api.github.com github.com registry.example wheels.example";
const ENTER = `mount --bind "$1" /etc/hosts && echo 0 > /proc/sys/net/ipv4/ip_unprivileged_port_start && shift &&
"$@" raise-loopback.ts && exec setpriv --ambient-caps=-all --inh-caps=-all "$@" stand.ts`;

/** Runs commands in one box on a machine of its own, in which the well-known names are providers of ours. */
export async function runInStand(commands: readonly string[]): Promise<{ ran: readonly Ran[]; end: StandEnd }> {
  const hosts = join(makeFolder(), "hosts");
  writeFileSync(hosts, `127.0.0.1 localhost ${NAMES}\n`);
  const namespaces = ["--user", "--map-current-user", "--keep-caps", "--net", "--mount"];
  const node = [process.execPath, "--disable-warning=ExperimentalWarning"];
  const child = spawn("unshare", [...namespaces, "--", "sh", "-c", ENTER, "sh", hosts, ...node], {
    cwd: import.meta.dirname,
    stdio: ["pipe", "pipe", "pipe"],
  });
  const texts = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    texts.out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    texts.err += text;
  });
  child.stdin.end(commands.join("\n"));
  const code = await within(
    new Promise<number | null>((resolve) => child.once("close", resolve)),
    500_000,
    "the stand ends",
  ).finally(() => child.kill("SIGTERM"));
  const lines = texts.out.split("\n").filter(Boolean);
  if (code !== 0 || lines.length !== commands.length + 1)
    throw new Error(`the stand ended with ${code}: ${texts.err}${texts.out}`);
  const records = lines.map((line) => JSON.parse(line) as unknown);
  return { ran: records.slice(0, -1) as Ran[], end: records.at(-1) as StandEnd };
}
