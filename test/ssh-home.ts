import { spawnSync } from "node:child_process";
import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Stand } from "./ssh-stand.ts";
import { Home, type Members, makeFolder, type Started } from "./support/home.ts";
import { idOf } from "./support/reply.ts";

/** What the SSH tests with a real gateway have in common: key files, a home that reaches the stand, a person who approves. */
export function makeKeyFile(folder: string, name: string): string {
  const file = join(folder, name);
  spawnSync("ssh-keygen", ["-q", "-N", "", "-C", "", "-t", "ed25519", "-f", file]);
  return file;
}

export function publicHalf(keyFile: string): string {
  return readFileSync(`${keyFile}.pub`, "utf8").trim().split(" ").slice(0, 2).join(" ");
}

/** A key line with a forced command, as a host's administrator writes it. */
export function allowKeyFile(stand: Stand, keyFile: string, command = stand.receiverCommand): void {
  const line = `restrict,command="${command.replaceAll('"', '\\"')}" ${publicHalf(keyFile)}\n`;
  appendFileSync(join(stand.folder, "authorized_keys"), line);
}

/** A home with the credential `ops-key`, bound to these host keys. */
export async function makeSshHome(keyFile: string, hostKeys: readonly string[]): Promise<Home> {
  const home = await new Home(makeFolder()).init();
  const bound = hostKeys.flatMap((line) => ["--host-key", line]);
  const input = readFileSync(keyFile, "utf8");
  await home.must(["credential", "add", "ops-key", "--kind", "ssh", ...bound], { input });
  return home;
}

/** The `ssh:` member of an action at the stand. */
export function sshMember(stand: Stand, action: string, hostKey = stand.hostKey, more = ""): string {
  const where = `host: 127.0.0.1, port: ${stand.port}, user: ${stand.user}, host_key: "${hostKey}"`;
  return `{ ${where}, credential: ops-key, action: ${action}${more} }`;
}

type Look = (card: Members) => void | Promise<void>;

/** `gw call`, and a person who looks at the card and approves. */
export async function callApproved(
  home: Home,
  args: readonly string[],
  look: Look = () => undefined,
): Promise<{ readonly calling: Started; readonly run: string }> {
  const calling = home.start(["call", ...args, "--json"]);
  const [approval] = await home.approvals();
  const card = (approval?.["card"] ?? {}) as Members;
  await look(card);
  await home.approve(idOf(approval, "approval_id"));
  return { calling, run: String((card["run"] as Members)["run_id"]) };
}

export async function callFinished(home: Home, args: readonly string[], look?: Look) {
  const { calling, run } = await callApproved(home, args, look);
  const done = await calling.exited;
  return { code: done.code, result: JSON.parse(done.out) as Members, err: done.err, run };
}

export function observed(result: Members): readonly unknown[] {
  const { kind, reason } = result["transport_observation"] as Members;
  return [result["outcome"], kind, reason];
}
