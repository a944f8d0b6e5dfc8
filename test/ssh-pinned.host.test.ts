import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before } from "node:test";
import { SSH, SSHD } from "../demo/host/sshd.ts";
import { signSsh } from "../src/kernel/ssh-key.ts";
import { expectRefused } from "./ssh-expect.ts";
import { beginSshFile } from "./ssh-file.ts";
import { allowKeyFile, callFinished, makeKeyFile, makeSshHome, sshMember } from "./ssh-home.ts";
import { ed25519, type Stand, startStand } from "./ssh-stand.ts";
import { codeOf, type Gateway, type Home, type Members } from "./support/home.ts";

/** A host that pins the gateway's key, a real gateway, and a thief who has the SSH key and has listened. */
const { missing, program, real, removeScripts, scripts } = beginSshFile(import.meta.filename);

const heard = join(scripts, "heard");
const keyFile = join(scripts, "id");
let stand: Stand;
let home: Home;
let gateway: Gateway;
let gatewayKey = "";

before(async () => {
  if (missing !== null) return;
  const restart = program("restart", `echo "$1" >> ${join(scripts, "restarted")}; echo done`);
  const worker = { first: "a-z", characters: "a-z0-9-", max: 32 };
  stand = await startStand({
    operations: { restart_worker: { executable: restart, arguments: [{ field: "worker" }], fields: { worker } } },
  });
  makeKeyFile(scripts, "id");
  // The thief listens on the host: what the gateway sends is written down on its way to the receiver.
  const receive = program("receive", `tee -a ${heard} | ${stand.receiverCommand.slice(5)}`);
  allowKeyFile(stand, keyFile, `exec ${receive}`);
  home = await makeSshHome(keyFile, [stand.hostKey]);
  const action = "effect: write\n    needs: { approval: each_use }";
  const input = 'input: { worker: { type: string, pattern: "^[a-z0-9-]+$", maxLength: 64 } }';
  const text = `format: gw.pack/v1\npack: ops\nactions:\n  worker.restart:\n    ${action}\n    ssh: ${sshMember(stand, "restart_worker")}\n    ${input}\n`;
  await home.trustPack("ops", text);
  const told = await toldKeys();
  gatewayKey = String(told["gateway_key"]);
  assert.equal(told["host_key"], stand.hostKey);
  stand.pin(gatewayKey);
  gateway = await home.up();
});

after(async () => {
  await gateway?.end();
  if (missing === null) await stand.stop();
  removeScripts();
});

async function toldKeys(of = home): Promise<Members> {
  const line = ["ssh", "keyline", "app-1", "--credential", "ops-key", "--json"];
  return JSON.parse((await of.run(line)).out) as Members;
}

real(
  "what gw ssh keyline prints for sshd_config is a server that starts, in the order printed, and its check names the account",
  async () => {
    const line = ["ssh", "keyline", "app-1", "--credential", "ops-key", "--user", "deploy"];
    const { settings } = JSON.parse((await home.run([...line, "--json"])).out) as {
      readonly settings: readonly Members[];
    };
    const config = join(scripts, "sshd_config");
    const texts = settings
      .filter(({ where }) => String(where).startsWith("/etc/ssh/sshd_config"))
      .map(({ text }) => text);
    const hostKey = join(scripts, "host_key");
    execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", hostKey]);
    writeFileSync(config, [`HostKey ${hostKey}`, "UsePAM no", ...texts, ""].join("\n"));
    const told = (user: string): string =>
      execFileSync(SSHD, ["-T", "-f", config, "-C", `user=${user},host=app-1,addr=127.0.0.1`], { encoding: "utf8" });
    assert.match(told("deploy"), /^permittunnel no$/m);
    assert.match(told("deploy"), /^authorizedkeysfile \/etc\/ssh\/authorized_keys\.d\/deploy$/m);
    assert.match(told("ada"), /^permituserenvironment no$/m);
    const { out } = await home.run(line);
    assert.match(out, /^# Then: gw ssh check app-1 --credential ops-key --user deploy$/m);
  },
);

const restart = (worker: string) => callFinished(home, ["ops.worker.restart", `worker=${worker}`]);
const restarted = (): readonly string[] => readFileSync(join(scripts, "restarted"), "utf8").trimEnd().split("\n");
const refusalOf = ({ result }: { readonly result: Members }) =>
  ((result["response"] as Members)["headers"] as Members)["code"];

/** Plain ssh with the stolen key: `answer` turns the receiver's nonce into what is sent. */
async function asThief(answer: (nonce: string) => string): Promise<string> {
  const options = [
    ...["-F", "none", "-i", keyFile, "-p", String(stand.port), "-oBatchMode=yes", "-oIdentitiesOnly=yes"],
    ...["-oStrictHostKeyChecking=no", "-oUserKnownHostsFile=/dev/null", "-oLogLevel=ERROR"],
  ];
  const child = spawn(SSH, [...options, `${stand.user}@127.0.0.1`, "gw-receiver"], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  let last = "";
  for await (const line of createInterface(child.stdout)) {
    const frame = JSON.parse(line) as Record<string, string>;
    if (frame["frame"] === "ready") child.stdin.end(answer(frame["nonce"] ?? ""));
    last = frame["code"] ?? frame["frame"] ?? "";
  }
  return last;
}

real("a host that pins the gateway's key takes what the gateway sends", async () => {
  const { code, err, result } = await restart("web-1");
  assert.equal(code, 0, err);
  assert.equal(result["outcome"], "success");
  assert.deepEqual(restarted(), ["web-1"]);
});

real("whoever has the SSH key alone is refused: unsigned, or signed by another key", async () => {
  const bare = { action: "restart_worker", worker: "web-9", request_id: "call_thief_0001" };
  assert.equal(await asThief(() => JSON.stringify(bare)), "signature_missing");
  assert.equal(await asThief((nonce) => JSON.stringify({ ...bare, nonce })), "signature_missing");
  const signer = stand.allow(ed25519(), stand.receiverCommand);
  const another = ed25519();
  const signRequest = (data: Buffer) => signSsh(another, data, 0) ?? assert.fail("not signed");
  const request = { action: "restart_worker", fields: { worker: "web-9" } };
  expectRefused(await stand.send(signer, request, { options: { signRequest } }), "signature_invalid");
  assert.deepEqual(restarted(), ["web-1"]);
});

real("a request that was listened to cannot be played again under another connection's nonce", async () => {
  const replay = readFileSync(heard, "utf8").split("\n")[0] ?? "";
  const members = JSON.parse(replay) as Record<string, string>;
  assert.ok(members["signature"] !== undefined && members["worker"] === "web-1", replay);
  // Not even on a host that has lost its record of what ran.
  rmSync(join(stand.state, "requests"), { recursive: true });
  assert.equal(await asThief(() => replay), "nonce_mismatch");
  assert.equal(await asThief((nonce) => JSON.stringify({ ...members, nonce })), "signature_invalid");
  const { nonce: _nonce, ...without } = members;
  assert.equal(await asThief(() => JSON.stringify(without)), "signature_missing");
  assert.deepEqual(restarted(), ["web-1"]);
});

real("a locked gateway signs nothing, and after it is unlocked it signs with the same key", async () => {
  await home.must(["lock"]);
  const before = readFileSync(heard);
  const refused = await home.run(["call", "ops.worker.restart", "worker=web-2", "--wait", "5"]);
  assert.deepEqual([refused.code, codeOf(refused)], [4, "gateway_locked"]);
  assert.deepEqual(readFileSync(heard), before, "nothing reached the host");
  await home.must(["unlock"]);
  assert.equal((await restart("web-2")).code, 0);
});

real("the key survives a restart, and another node with the same vault has the same one", async () => {
  await gateway.end("SIGTERM");
  const twin = home.copy();
  assert.equal((await toldKeys(twin))["gateway_key"], gatewayKey);
  home = twin;
  gateway = await home.up();
  assert.equal((await restart("web-3")).code, 0);
});

real(
  "removing an operator locks the gateway until it has the new service key, and hosts know its requests again",
  async () => {
    const theirs = join(scripts, "bob");
    writeFileSync(theirs, "bob has a passphrase of his own\n", { mode: 0o600 });
    await home.must(["operator", "add", "bob", "--operator", "ada", "--new-passphrase-file", theirs]);
    const removed = await home.must(["operator", "remove", "bob", "--operator", "ada"]);
    assert.match(removed.err, /gw ssh new-key/);
    assert.equal((await home.status())["locked"], true, "the key that bob knew opens nothing any more");
    assert.equal((await toldKeys())["gateway_key"], gatewayKey);
    await home.must(["unlock"]);
    const { code, err } = await restart("web-5");
    assert.equal(code, 0, err);
  },
);

real(
  "after gw ssh new-key hosts refuse until they pin the new key, and then the old one is worth nothing",
  async () => {
    const renewed = JSON.parse((await home.must(["ssh", "new-key", "--json"])).out) as Members;
    assert.notEqual(renewed["gateway_key"], gatewayKey);
    const refused = await restart("web-6");
    assert.deepEqual([refused.code, refusalOf(refused)], [1, "signature_invalid"]);
    stand.pin(String(renewed["gateway_key"]));
    assert.equal((await restart("web-6")).code, 0);
    assert.deepEqual(restarted().slice(-1), ["web-6"]);
  },
);

real("the private half is in no file of the home, and no command prints it", async () => {
  const shown = (await home.run(["credential", "list", "--json"])).out + JSON.stringify(await home.status());
  assert.doesNotMatch(shown, /request.?key|PRIVATE/i);
  // PKCS8 of an Ed25519 key begins with these bytes, whatever the key.
  const marks = [Buffer.from("302e020100300506032b6570", "hex"), Buffer.from("MC4CAQAwBQYDK2Vw")];
  for (const name of readdirSync(home.folder, { recursive: true, encoding: "utf8" })) {
    const path = join(home.folder, name);
    if (!existsSync(path) || name.endsWith(".sock")) continue;
    const bytes = readBytes(path);
    for (const mark of marks) assert.equal(bytes.includes(mark), false, name);
  }
});

function readBytes(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch {
    return Buffer.alloc(0);
  }
}
