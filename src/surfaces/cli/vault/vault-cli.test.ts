import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  closeSync,
  cpSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { Denied } from "../../../kernel/failure.ts";
import { Secret } from "../../../kernel/secret.ts";
import { openHome } from "../../../vault/files/home.ts";
import { readKeyFile } from "../../../vault/files/key-file.ts";
import { openService } from "../../../vault/lend.ts";
import { unlockOperator } from "../../../vault/operator.ts";
import { loweredSettings } from "../../../vault/policy/policy.ts";
import type { CliIo } from "../io.ts";
import { runCredentialList } from "./credential-list.ts";
import {
  runCredentialAdd,
  runCredentialMark,
  runCredentialRemove,
  runCredentialRotate,
  runCredentialSwitch,
} from "./credentials.ts";
import { runInit } from "./init.ts";
import { runWriteKeyFile } from "./key-file.ts";
import { runOperatorAdd, runOperatorList, runOperatorPin, runOperatorRemove, runPassphrase } from "./operators.ts";
import type { VaultChanged, VaultCliPorts } from "./session.ts";

const root = mkdtempSync(join(tmpdir(), "gw-"));
after(() => rmSync(root, { recursive: true }));
const ADA = "amber-otter-velvet-quarry";
const BOB = "bobs-own-passphrase-1";
const TOKEN = "token-of-acme-1";
const ORIGIN = "https://api.acme.example";
const HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJqWpEn+EosO6k3FOIU8fZ/T9ndDL9N7Hxv5gdiGmNNq";
const random = { bytes: (length: number) => randomBytes(length) };

/** A terminal on paper: secrets and answers are typed from lists, everything printed is kept. */
function paper(
  typed: { readonly secrets?: readonly string[]; readonly answers?: readonly string[]; readonly piped?: string } = {},
) {
  const secrets = [...(typed.secrets ?? [])];
  const answers = [...(typed.answers ?? [])];
  const printed: string[] = [];
  const errors: string[] = [];
  const next = async (prompt: string): Promise<Secret> => {
    const text = secrets.shift();
    if (text === undefined) throw new Denied("terminal_needed", `nothing typed for: ${prompt}`);
    // The generated passphrase is typed from what was shown.
    return Secret.fromText(text === "SHOWN" ? (/now: (\S+)/.exec(errors.join("\n"))?.[1] ?? "") : text);
  };
  const io: CliIo = {
    out: (line) => void printed.push(line),
    err: (line) => void errors.push(line),
    isTty: true,
    color: false,
    askSecret: next,
    ask: async () => answers.shift() ?? "",
    readSecret: async (prompt) => (typed.piped === undefined ? next(prompt) : Secret.fromText(typed.piped)),
  };
  return { io, printed, errors, all: () => [...printed, ...errors].join("\n") };
}

let homes = 0;
const changes: VaultChanged[] = [];
const wrong: { readonly operator: string; readonly failedAttempts: number }[] = [];
let now = Date.UTC(2026, 9, 1);
const ports: VaultCliPorts = {
  clock: { wallMs: () => now++ },
  sleep: { sleep: async () => undefined },
  random,
  // Copies of one home go their own ways here, as no copy may for one operator.
  get stateFolder() {
    return join(root, `seen${homes}`);
  },
  refresh: async () => undefined,
  afterChange: async (change) => void changes.push({ ...change, newServiceKey: null }),
  logins: { find: async () => null, start: async () => undefined },
  afterWrongPassphrase: async (failure) => void wrong.push(failure),
};

// Founding costs an Argon2id run: one home is founded, and every test works on a copy of it.
const founded = join(root, "founded");
const founding = paper({ secrets: [ADA, ADA], answers: ["own"] });
assert.equal(await runInit({ home: founded, json: false, operator: "ada" }, founding.io, ports), 0, founding.all());

function freshHome(): { readonly home: string; readonly json: boolean } {
  const home = join(root, `h${homes++}`);
  cpSync(founded, home, { recursive: true });
  chmodSync(home, 0o700);
  return { home, json: true };
}

const addOptions = { kind: "bearer", origins: [ORIGIN], hostKeys: [], packs: [], eachUse: false };

async function lentFrom(home: string, label: string): Promise<string> {
  const vault = openHome(home, random).readVault();
  const operator = await unlockOperator(vault, "ada", Secret.fromText(ADA));
  return openService(vault, operator.serviceKey).lendHttp(label, ORIGIN).headerValue.use(String);
}

test("gw init makes a private home with one operator and a signed policy that lowers nothing", async () => {
  const { home } = freshHome();
  assert.equal(statSync(home).mode & 0o777, 0o700);
  const opened = openHome(home, random);
  const vault = opened.readVault();
  assert.deepEqual(
    vault.operators.map(({ name }) => name),
    ["ada"],
  );
  assert.deepEqual(loweredSettings(opened.readPolicy(vault).settings), []);
  assert.equal(changes[0]?.what, "vault_created");
});

test("gw init offers a generated passphrase, shows it once and wants it typed", async () => {
  const home = join(root, "generated");
  // It is still on the screen: a slip or two end nothing.
  const made = paper({ secrets: ["slipped", "slipped again", "SHOWN"], answers: [""] });
  assert.equal(await runInit({ home, json: true, operator: "ada" }, made.io, ports), 0, made.all());
  const shown = /now: (\S+)/.exec(made.errors.join("\n"))?.[1] ?? "";
  assert.equal(shown.split("-").length, 6);
  assert.ok(!made.printed.join("\n").includes(shown));
  const opened = openHome(home, random);
  assert.equal((await unlockOperator(opened.readVault(), "ada", Secret.fromText(shown))).name, "ada");
  assert.equal(opened.readPolicy(opened.readVault()).version, 1);
});

const badInits: Readonly<Record<string, [Parameters<typeof paper>[0], string]>> = {
  "the generated passphrase is typed wrongly": [
    { secrets: ["something else", "", "something else", "SHOWN"], answers: [""] },
    "secret_mismatch",
  ],
  "the two own passphrases differ": [{ secrets: [ADA, `${ADA}x`], answers: ["own"] }, "secret_mismatch"],
  "the own passphrase is weak": [{ secrets: ["short", "short"], answers: ["own"] }, "passphrase_weak"],
  "the answer is neither": [{ answers: ["maybe"] }, "interrupted"],
};
for (const [what, [typed, code]] of Object.entries(badInits)) {
  test(`gw init makes nothing when ${what}`, async () => {
    const made = paper(typed);
    const home = join(root, "never");
    assert.equal(await runInit({ home, json: false, operator: "ada" }, made.io, ports), 1);
    assert.ok(
      made.errors.some((line) => line.startsWith(`${code}: `)),
      made.all(),
    );
    // npm start asks the same, and knows nothing of gw init.
    assert.doesNotMatch(made.all(), /run gw init/);
    assert.equal(openHome(home, random).exists(), false);
  });
}

test("gw init does not touch a vault that is there", async () => {
  const { home } = freshHome();
  const before = readFileSync(join(home, "vault.json"));
  const made = paper({ secrets: [BOB, BOB], answers: ["own"] });
  assert.equal(await runInit({ home, json: false }, made.io, ports), 1);
  assert.match(made.all(), /^vault_exists: /);
  assert.ok(readFileSync(join(home, "vault.json")).equals(before));
});

test("gw credential add takes the secret from standard input and shows it nowhere", async () => {
  const options = freshHome();
  const added = paper({ secrets: [ADA], piped: TOKEN });
  assert.equal(await runCredentialAdd("acme", { ...options, ...addOptions }, added.io, ports), 0, added.all());
  assert.ok(!added.all().includes(TOKEN) && !added.all().includes(ADA));
  const record = JSON.parse(added.printed[0] ?? "");
  assert.deepEqual([record.label, record.kind, record.bound_to, record.state], ["acme", "bearer", [ORIGIN], "enabled"]);
  assert.equal(await lentFrom(options.home, "acme"), `Bearer ${TOKEN}`);
  const { what, subject, by, generation } = changes.at(-1) ?? assert.fail();
  assert.deepEqual([what, subject, by, generation], ["credential_added", "acme", "ada", 2]);
});

test("gw credential add asks on the terminal, or reads a descriptor of the shell", async () => {
  const options = freshHome();
  const asked = paper({ secrets: [ADA, TOKEN] });
  assert.equal(await runCredentialAdd("asked", { ...options, ...addOptions }, asked.io, ports), 0, asked.all());
  const file = join(root, "secret-fd");
  writeFileSync(file, "token-from-fd-3\n");
  const secretFd = openSync(file, "r");
  const read = paper({ secrets: [ADA] });
  assert.equal(await runCredentialAdd("fd", { ...options, ...addOptions, secretFd }, read.io, ports), 0, read.all());
  closeSync(secretFd);
  assert.equal(await lentFrom(options.home, "asked"), `Bearer ${TOKEN}`);
  assert.equal(await lentFrom(options.home, "fd"), "Bearer token-from-fd-3");
  for (const bad of [0, 2, 1_000, -1, 1.5]) {
    const refused = paper({ secrets: [ADA] });
    assert.equal(await runCredentialAdd("bad", { ...options, ...addOptions, secretFd: bad }, refused.io, ports), 1);
    assert.match(refused.all(), /credential_invalid: /);
  }
});

test("the passphrase may come from a private file, with a warning; from an open one it is refused", async () => {
  const options = freshHome();
  const passphraseFile = join(root, "phrase");
  writeFileSync(passphraseFile, `${ADA}\n`, { mode: 0o600 });
  const added = paper({ piped: TOKEN });
  assert.equal(
    await runCredentialAdd("acme", { ...options, ...addOptions, passphraseFile }, added.io, ports),
    0,
    added.all(),
  );
  assert.match(added.errors.join("\n"), /warning/);
  chmodSync(passphraseFile, 0o644);
  const refused = paper({ piped: TOKEN });
  assert.equal(await runCredentialAdd("two", { ...options, ...addOptions, passphraseFile }, refused.io, ports), 1);
  assert.match(refused.all(), /file_permissions_open: /);
});

test("a basic credential is put together from --username and the secret", async () => {
  const options = { ...freshHome(), ...addOptions, kind: "basic" };
  const added = paper({ secrets: [ADA], piped: "engine-no-1" });
  assert.equal(await runCredentialAdd("b", { ...options, username: "ada" }, added.io, ports), 0, added.all());
  assert.equal(await lentFrom(options.home, "b"), `Basic ${Buffer.from("ada:engine-no-1").toString("base64")}`);
  const refused = paper({ secrets: [ADA], piped: "engine-no-1" });
  assert.equal(await runCredentialAdd("c", { ...options, kind: "bearer", username: "ada" }, refused.io, ports), 1);
});

test("what is kept elsewhere, whether it is sent or exchanged, is asked for neither when it is added nor to rotate it", async () => {
  const options = { ...freshHome(), ...addOptions, sourceCommand: '["/usr/bin/pass", "show", "acme"]' };
  const robot = { kind: "jwt-bearer", tokenEndpoint: "https://login.acme.example/token", clientId: "robot" };
  for (const [label, more] of [
    ["sent", {}],
    ["exchanged", robot],
  ] as const) {
    const added = paper({ secrets: [ADA] });
    assert.equal(await runCredentialAdd(label, { ...options, ...more }, added.io, ports), 0, added.all());
    const rotated = paper();
    assert.equal(await runCredentialRotate(label, options, rotated.io, ports), 1);
    assert.match(rotated.all(), /^credential_invalid: .*none to rotate: replace it where it is kept/);
  }
});

test("a place of the wrong kind, an unknown kind or no place is refused before the secret is asked", async () => {
  const options = freshHome();
  for (const change of [{ hostKeys: [HOST_KEY] }, { packs: ["acme"] }, { kind: "cookie" }]) {
    const refused = paper();
    assert.equal(await runCredentialAdd("x", { ...options, ...addOptions, ...change }, refused.io, ports), 1);
    assert.match(refused.all(), /^credential_invalid: /);
  }
});

test("an encrypted ssh key asks for its passphrase once and is stored with its public half", async () => {
  const options = freshHome();
  const stored = join(import.meta.dirname, "../../../vault/testing/ssh-keys.json");
  const { file, line } = JSON.parse(readFileSync(stored, "utf8")).keys["aes256-ctr"];
  const added = paper({ secrets: [ADA, "phrase of the key"], piped: file });
  const ssh = { ...options, ...addOptions, kind: "ssh", origins: [], hostKeys: [HOST_KEY] };
  assert.equal(await runCredentialAdd("host", ssh, added.io, ports), 0, added.all());
  assert.equal(JSON.parse(added.printed[0] ?? "").public_key, line);
  assert.ok(!added.all().includes("phrase of the key"));
});

test("gw credential list, rotate, mark, disable, enable and remove do what they say and show no secret", async () => {
  const options = freshHome();
  const shown: string[] = [];
  const step = async (run: (io: CliIo) => Promise<number>, typed: Parameters<typeof paper>[0] = { secrets: [ADA] }) => {
    const sheet = paper(typed);
    assert.equal(await run(sheet.io), 0, sheet.all());
    shown.push(sheet.all());
    const list = paper();
    await runCredentialList(options, list.io, ports);
    return JSON.parse(list.printed[0] ?? "")[0];
  };
  const piped = (text: string) => ({ secrets: [ADA], piped: text });
  assert.equal(
    (await step((io) => runCredentialAdd("acme", { ...options, ...addOptions }, io, ports), piped(TOKEN))).version,
    1,
  );
  const rotated = await step((io) => runCredentialRotate("acme", options, io, ports), piped("token-of-acme-2"));
  assert.deepEqual([rotated.version, rotated.retired_versions], [2, [1]]);
  assert.equal(
    (await step((io) => runCredentialMark("acme", true, { ...options, json: false }, io, ports))).each_use,
    true,
  );
  assert.equal((await step((io) => runCredentialSwitch("acme", true, options, io, ports))).state, "disabled");
  assert.equal((await step((io) => runCredentialSwitch("acme", false, options, io, ports))).state, "enabled");
  const plain = paper();
  await runCredentialList({ ...options, json: false }, plain.io, ports);
  assert.match(plain.printed[0] ?? "", /acme {2}bearer v2 {2}https:\/\/api\.acme\.example {2}\(asks each use\)/);
  assert.equal(await step((io) => runCredentialRemove("acme", options, io, ports)), undefined);
  assert.ok(!shown.join("\n").includes("token-of-acme"));
  assert.match(shown.join("\n"), /acme asks a person on every use from now on/);
  assert.deepEqual(
    changes.slice(-6).map(({ what }) => what),
    [
      "credential_added",
      "credential_rotated",
      "credential_marked_each_use",
      "credential_disabled",
      "credential_enabled",
      "credential_removed",
    ],
  );
});

test("an unknown label is refused before the passphrase is asked", async () => {
  const options = freshHome();
  for (const run of [runCredentialRemove, runCredentialRotate]) {
    const refused = paper();
    assert.equal(await run("nobody", options, refused.io, ports), 1);
    assert.match(refused.all(), /^credential_unknown: /);
  }
});

test("a wrong passphrase is counted, told to whoever records it, and said at the next unlock", async () => {
  const options = freshHome();
  const before = wrong.length;
  const refused = paper({ secrets: ["not-the-passphrase"], piped: TOKEN });
  assert.equal(await runCredentialAdd("acme", { ...options, ...addOptions }, refused.io, ports), 1);
  assert.match(refused.all(), /^passphrase_wrong: /);
  assert.deepEqual(wrong.slice(before), [{ home: options.home, operator: "ada", failedAttempts: 1 }]);
  const right = paper({ secrets: [ADA], piped: TOKEN });
  assert.equal(await runCredentialAdd("acme", { ...options, ...addOptions }, right.io, ports), 0);
  assert.match(right.errors.join("\n"), /1 wrong/);
});

test("operators are added, listed and removed, and the policy follows who reads the log", async () => {
  const options = freshHome();
  const home = openHome(options.home, random);
  const added = paper({ secrets: [ADA, BOB, BOB] });
  assert.equal(await runOperatorAdd("bob", { ...options, operator: "ada" }, added.io, ports), 0, added.all());
  const list = paper();
  await runOperatorList(options, list.io, ports);
  assert.deepEqual(
    JSON.parse(list.printed[0] ?? "").map((row: { operator: string }) => row.operator),
    ["ada", "bob"],
  );
  assert.equal(home.readPolicy(home.readVault()).auditRecipients.length, 2);
  const removed = paper({ secrets: [BOB] });
  assert.equal(await runOperatorRemove("ada", { ...options, operator: "bob" }, removed.io, ports), 0, removed.all());
  const vault = home.readVault();
  assert.deepEqual(
    vault.operators.map(({ name }) => name),
    ["bob"],
  );
  assert.deepEqual(
    home.readPolicy(vault).auditRecipients.map(({ name }) => name),
    ["bob"],
  );
  const last = paper({ secrets: [BOB] });
  assert.equal(await runOperatorRemove("bob", options, last.io, ports), 1);
  assert.match(last.all(), /operator_last: /);
});

test("a new passphrase or PIN that cannot be taken is told before it is typed once more", async () => {
  const options = freshHome();
  for (const [code, run] of [
    ["passphrase_weak", (io: CliIo) => runPassphrase(options, io, ports)],
    ["passphrase_weak", (io: CliIo) => runOperatorAdd("bob", options, io, ports)],
    ["pin_invalid", (io: CliIo) => runOperatorPin({ ...options, clear: false }, io, ports)],
  ] as const) {
    const refused = paper({ secrets: [ADA, "12x"] });
    assert.equal(await run(refused.io), 1);
    assert.match(refused.all(), new RegExp(`^${code}: `));
  }
  const made = paper({ answers: ["own"], secrets: ["12x"] });
  assert.equal(await runInit({ ...options, home: join(root, "never") }, made.io, ports), 1);
  assert.match(made.all(), /^passphrase_weak: /);
  const named = paper();
  assert.equal(await runInit({ ...options, home: join(root, "never"), operator: "Ada L." }, named.io, ports), 1);
  assert.match(named.all(), /^operator_name_invalid: /);
});

test("gw passphrase and gw operator pin change what they say", async () => {
  const options = freshHome();
  const changed = paper({ secrets: [ADA, "another-passphrase-2", "another-passphrase-2"] });
  assert.equal(await runPassphrase(options, changed.io, ports), 0, changed.all());
  const pinned = paper({ secrets: ["another-passphrase-2", "482913", "482913"] });
  assert.equal(await runOperatorPin({ ...options, clear: false }, pinned.io, ports), 0, pinned.all());
  const vault = openHome(options.home, random).readVault();
  const operator = await unlockOperator(vault, "ada", Secret.fromText("another-passphrase-2"));
  assert.ok(operator.pin !== null);
  assert.ok(![changed.all(), pinned.all()].join("").match(/482913|another-passphrase/));
});

test("a key file is written private, opens this vault's credentials, and warns while the policy forbids its use", async () => {
  const options = freshHome();
  const path = join(root, "service.key");
  const made = paper({ secrets: [ADA] });
  assert.equal(await runWriteKeyFile(path, options, made.io, ports), 0, made.all());
  const again = paper({ secrets: [ADA] });
  assert.equal(await runWriteKeyFile(path, options, again.io, ports), 0, "a key file is renewed");
  const other = join(root, "notes.txt");
  writeFileSync(other, "what somebody wrote\n".repeat(40));
  assert.equal(await runWriteKeyFile(other, options, made.io, ports), 1);
  assert.match(made.all(), /key_file_malformed/);
  assert.equal(readFileSync(other, "utf8"), "what somebody wrote\n".repeat(40), "anything else stays as it is");
  const vault = openHome(options.home, random).readVault();
  assert.equal(openService(vault, readKeyFile(path, vault.vaultId)).generation, vault.generation);
  assert.match(made.errors.join("\n"), /headless_unlock/);
  const line = readFileSync(path, "latin1").split(" ")[2] ?? "";
  assert.ok(!made.all().includes(line.trim()));
});

test("the memory of an operator forgets how far old lines were checked, never what was seen of them", async () => {
  const options = freshHome();
  const first = paper({ secrets: [ADA], piped: TOKEN });
  assert.equal(await runCredentialAdd("acme", { ...options, ...addOptions }, first.io, ports), 0, first.all());
  const name = readdirSync(ports.stateFolder).find((one) => one.endsWith(".seen.json")) ?? assert.fail();
  const file = join(ports.stateFolder, name);
  const memory = JSON.parse(readFileSync(file, "utf8"));
  const [own = "", line] = Object.entries(memory.lines)[0] ?? [];
  // A line for every copy that was ever restored, with checks as long as those of a log of many seals.
  const cut = { peaks: Array.from({ length: 64 }, () => "0".repeat(64)) };
  for (let restored = 0; restored < 1_200; restored++)
    memory.lines[`line-${restored}`] = { ...(line as object), checked: { cut, wholeAtMs: restored, sealed: null } };
  writeFileSync(file, JSON.stringify(memory), { mode: 0o600 });
  assert.ok(statSync(file).size > 4_194_304);
  const second = paper({ secrets: [ADA], piped: TOKEN });
  assert.equal(await runCredentialAdd("other", { ...options, ...addOptions }, second.io, ports), 0, second.all());
  const { lines } = JSON.parse(readFileSync(file, "utf8"));
  const checked = Object.keys(lines).filter((one) => lines[one].checked !== undefined);
  assert.deepEqual([Object.keys(lines).length, checked.length, checked.includes("line-1199")], [1_201, 32, true]);
  assert.deepEqual(lines["line-0"], line, "what was seen of it stands");
  assert.ok(lines[own].vault.generation > memory.lines[own].vault.generation);
  assert.ok(statSync(file).size < 1_500_000);
});

test("what another command brought forward meanwhile is looked at again before it is called an old copy; what was put back is refused", async () => {
  const options = freshHome();
  const { stateFolder } = ports;
  async function run(disabled: boolean, refresh: () => Promise<void>, whileTyped?: () => void) {
    const sheet = paper({ secrets: [ADA] });
    const askSecret = (prompt: string) => {
      whileTyped?.();
      return sheet.io.askSecret(prompt);
    };
    const exit = await runCredentialSwitch(
      "acme",
      disabled,
      options,
      { ...sheet.io, askSecret },
      { ...ports, refresh },
    );
    return { exit, said: sheet.errors.join(), generation: openHome(options.home, random).readVault().generation };
  }
  /** The home and the memory of its operator, as they are now. */
  function keep(name: string) {
    const [home, memory] = [join(root, name, "home"), join(root, name, "memory")];
    cpSync(options.home, home, { recursive: true });
    cpSync(stateFolder, memory, { recursive: true });
    return {
      home: () => cpSync(home, options.home, { recursive: true }),
      memory: () => cpSync(memory, stateFolder, { recursive: true }),
    };
  }
  const nothing = async () => undefined;
  const added = paper({ secrets: [ADA], piped: TOKEN });
  assert.equal(await runCredentialAdd("acme", { ...options, ...addOptions }, added.io, ports), 0, added.all());
  const older = keep("older");
  const { generation } = await run(true, nothing);
  const newer = keep("newer");

  for (const when of ["before it looks", "while a passphrase is typed"] as const) {
    const soon = when === "before it looks";
    const begin = (): void => {
      older.home();
      (soon ? newer : older).memory();
    };
    const meanwhile = soon ? undefined : () => newer.memory();
    begin();
    const done = await run(false, async () => newer.home(), meanwhile);
    assert.deepEqual([done.exit, done.generation], [0, generation + 1], `${when}: ${done.said}`);
    for (const refresh of [nothing, () => Promise.reject(new Error("nobody answers"))]) {
      begin();
      const refused = await run(false, refresh, meanwhile);
      assert.match(refused.said, /^vault_rolled_back: /, when);
      assert.deepEqual([refused.exit, refused.generation], [1, generation - 1], "nothing was signed");
    }
  }
});
