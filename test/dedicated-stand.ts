import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { playCommand } from "../scripts/suite/players.ts";
import { sharesProcess } from "./support/commands.ts";
import {
  type Exited,
  GW,
  gatewayCommand,
  gatewayEnvironment,
  keep,
  type Members,
  makeFolder,
  type Started,
  start,
  until,
  within,
} from "./support/home.ts";
import { smallAgent } from "./support/small-agent.ts";

/**
 * A gateway for all users of a machine, as a package sets it up: a user for the gateway, one for gw-ident, operators and
 * agents of their own, groups for the sockets. Numbers take the place of accounts, setpriv that of the units.
 */
export interface Person {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly groups: readonly number[];
}

const GATEWAY_GROUP = 64_200;
const AGENTS = 64_300;
const OPERATORS = 64_301;
export const PASSPHRASE = "correct horse battery staple in a test";

const person = (name: string, uid: number, groups: readonly number[] = [], gid = uid): Person => ({
  ...{ name, uid, gid, groups },
});
export const people = {
  gw: person("gw", 64_200, [AGENTS, OPERATORS], GATEWAY_GROUP),
  ident: person("ident", 64_201, [], GATEWAY_GROUP),
  ada: person("ada", 64_210, [OPERATORS]),
  alfa: person("alfa", 64_220, [AGENTS]),
  bravo: person("bravo", 64_221, [AGENTS]),
  stranger: person("stranger", 64_230),
} as const;

/** What keeps these tests from running here; undefined where nothing does. */
export const cannotStand = ((): string | undefined => {
  if (process.platform !== "linux") return "dedicated mode is for Linux";
  if (process.getuid?.() !== 0)
    return "SKIPPED without root: users of their own for gateway, gw-ident, operator and two agents";
  if (spawnSync("setpriv", ["--version"]).status !== 0) return "setpriv is missing";
  const seen = as(people.alfa, [
    "test",
    "-r",
    join(dirname(dirname(GW)), "package.json"),
    "-a",
    "-x",
    process.execPath,
  ]);
  return spawnSync(seen[0] ?? "", seen.slice(1)).status === 0
    ? undefined
    : "an unprivileged user cannot read this clone";
})();

export function as({ uid, gid, groups }: Person, command: readonly string[], rights: readonly string[] = []): string[] {
  const groupsOf = groups.length === 0 ? ["--clear-groups"] : ["--groups", groups.join(",")];
  return ["setpriv", "--reuid", String(uid), "--regid", String(gid), ...groupsOf, ...rights, "--", ...command];
}

/** As the unit of gw-ident has it: AmbientCapabilities= and CapabilityBoundingSet= of CAP_SYS_PTRACE. */
const PTRACE = ["--bounding-set", "--inh-caps", "--ambient-caps"].flatMap((set) => [set, "-all,+sys_ptrace"]);
/** As the unit of the gateway: an empty CapabilityBoundingSet=. */
const NOTHING = ["--bounding-set", "--inh-caps", "--ambient-caps"].flatMap((set) => [set, "-all"]);

function memoryFolder(): string {
  const folder = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "gw-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  chmodSync(folder, 0o755);
  return folder;
}

export class Machine {
  readonly folder = makeFolder();
  readonly config = join(this.folder, "gw.yaml");
  readonly home = join(this.folder, "home");
  /** On a file system of its own, as /run is. */
  readonly run = join(memoryFolder(), "run");
  readonly passphraseOf = new Map<string, string>();

  constructor() {
    chmodSync(this.folder, 0o755);
    this.#make(this.home, people.gw, 0o700);
    this.#make(this.run, people.gw, 0o755);
    this.#make(join(this.folder, "ident"), people.ident, 0o755);
    mkdirSync(join(this.folder, "users"));
    for (const one of Object.values(people)) {
      this.#make(this.place(one), one, 0o700);
      const file = join(this.place(one), "passphrase");
      writeFileSync(file, `${PASSPHRASE}\n`, { mode: 0o600 });
      chownSync(file, one.uid, one.gid);
    }
    this.configure();
  }

  get agentSocket(): string {
    return join(this.run, "agent.sock");
  }

  get operatorSocket(): string {
    return join(this.run, "operator.sock");
  }

  get identSocket(): string {
    return join(this.folder, "ident", "ident.sock");
  }

  place({ name }: Person): string {
    return join(this.folder, "users", name);
  }

  configure(other: Readonly<Record<string, string | number>> = {}): void {
    const members = {
      home: this.home,
      user: people.gw.uid,
      agent_socket: this.agentSocket,
      operator_socket: this.operatorSocket,
      agent_group: AGENTS,
      operator_group: OPERATORS,
      ident_socket: this.identSocket,
      ident_user: people.ident.uid,
      ...other,
    };
    writeFileSync(
      this.config,
      Object.entries(members)
        .map(([name, value]) => `${name}: ${value}\n`)
        .join(""),
    );
    chmodSync(this.config, 0o644);
  }

  environment(who: Person): NodeJS.ProcessEnv {
    return { PATH: process.env["PATH"], HOME: this.place(who), XDG_STATE_HOME: join(this.place(who), "state") };
  }

  start(
    who: Person,
    command: readonly string[],
    options: { input?: string; rights?: readonly string[]; env?: NodeJS.ProcessEnv } = {},
  ): Started {
    const { input, rights, env } = options;
    return start(as(who, command, rights), {
      env: { ...this.environment(who), ...env },
      ...(input === undefined ? {} : { input }),
    });
  }

  gw(who: Person, args: readonly string[], input?: string): Promise<Exited> {
    const words = [...args, "--config", this.config];
    const order = { args: words, env: this.environment(who), input: input ?? "", folder: "/" };
    const work = sharesProcess(args)
      ? playCommand(GW, order, keep, { prefix: as(who, []) })
      : this.start(who, [GW, ...words], input === undefined ? {} : { input }).exited;
    return within(work, 120_000, args.join(" "));
  }

  /** A command of somebody with the operator's passphrase. */
  operate(who: Person, args: readonly string[], input?: string): Promise<Exited> {
    return this.gw(who, [...args, "--passphrase-file", join(this.place(who), "passphrase")], input);
  }

  async must(who: Person, args: readonly string[], input?: string): Promise<Exited> {
    const done = await this.operate(who, args, input);
    assert.equal(done.code, 0, `${who.name}: gw ${args.join(" ")}: ${done.err}${done.out}`);
    return done;
  }

  /** The gateway alone, as the unit's `gw up` starts it: half the processes of that. */
  async startGateway(extra: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Promise<Started> {
    const command = [...gatewayCommand(this.home), "--config", this.config, ...extra];
    const running = this.start(people.gw, command, { rights: NOTHING, env: { ...gatewayEnvironment, ...env } });
    await ready(running, "ready ");
    return running;
  }

  /** By the command of its unit. */
  async up(extra: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Promise<Started> {
    const command = [GW, "up", "--locked", ...extra, "--config", this.config];
    const running = this.start(people.gw, command, { rights: NOTHING, env });
    await ready(running, "Approve with");
    return running;
  }

  /** What an agent of a user is answered to one call, for which it waits so long, in a run of its own or the one that is named. */
  async act(who: Person, input: Members, seconds = 120, run = ""): Promise<Members> {
    const agent = smallAgent(this.agentSocket, "demo.thing.get", input, seconds, { run });
    const { out, err } = await this.start(who, agent).exited;
    assert.notEqual(out, "", err);
    return JSON.parse(out) as Members;
  }

  async startIdent(who: Person = people.ident, prefix: readonly string[] = []): Promise<Started> {
    const command = [...prefix, join(dirname(GW), "gw-ident"), "--config", this.config];
    const running = this.start(who, command, { rights: PTRACE });
    await ready(running, "ready ");
    return running;
  }

  async status(who: Person): Promise<Members> {
    const done = await this.gw(who, ["status", "--json"]);
    assert.ok(done.code === 0 || done.code === 4, done.err);
    return JSON.parse(done.out) as Members;
  }

  #make(folder: string, { uid, gid }: Person, mode: number): void {
    mkdirSync(folder, { recursive: true });
    chownSync(folder, uid, gid);
    chmodSync(folder, mode);
  }
}

async function ready(running: Started, word: string): Promise<void> {
  await until(
    `it says ${word}`,
    () => {
      if (running.out().includes(word)) return true;
      if (running.child.exitCode !== null) assert.fail(`it ended: ${running.err()}${running.out()}`);
      return false;
    },
    120_000,
  );
}
