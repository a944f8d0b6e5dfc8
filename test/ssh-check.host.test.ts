import assert from "node:assert/strict";
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { probeHost } from "../src/adapters/transport/ssh/probe.ts";
import type { ClientMode } from "../src/conventions/ssh/client-options.ts";
import type { SshSigner } from "../src/conventions/ssh/outbound.ts";
import type { ProbeResult } from "../src/conventions/ssh/probe.ts";
import { Secret } from "../src/kernel/secret.ts";
import type { CliIo } from "../src/surfaces/cli/io.ts";
import { checkHost, printKeyline } from "../src/surfaces/cli/ssh.ts";
import { beginSshFile } from "./ssh-file.ts";
import { ed25519, keySigner, publicLine, type Stand, startStand } from "./ssh-stand.ts";

const { missing, program, real, removeScripts } = beginSshFile(import.meta.filename);
const operations = { release_status: { executable: "/bin/true" } };
/** Eight clients and receivers start at once, also on a busy machine. */
const WAIT_MS = 20_000;
let stand: Stand;
let open: Stand;

before(async () => {
  if (missing !== null) return;
  stand = await startStand({ operations });
  open = await startStand({ operations, sshdLines: ["AcceptEnv *", "PermitUserEnvironment no"] });
});
after(async () => {
  if (missing === null) await Promise.all([stand.stop(), open.stop()]);
  removeScripts();
});

function terminal() {
  const lines: string[] = [];
  const io: CliIo = {
    out: (line) => void lines.push(line),
    err: (line) => void lines.push(line),
    isTty: false,
    color: false,
    askSecret: async () => Secret.fromText(""),
    ask: async () => "",
    readSecret: async () => Secret.fromText(""),
  };
  return { io, lines };
}

async function probe(at: Stand, signer: SshSigner): Promise<Map<ClientMode, ProbeResult["verdict"]>> {
  const results = await probeHost(at.options(), at.target(), signer, WAIT_MS);
  return new Map(results.map(({ probe: name, verdict }) => [name, verdict]));
}

real("the printed key line makes a host that refuses everything but the receiver", async () => {
  const signer = keySigner(ed25519());
  // A key line for files of the tester's own: the manifest here cannot belong to root.
  const node = program("node", `exec ${process.execPath} "$@" --trust-own-files`);
  const { io, lines } = terminal();
  const keys = { publicKey: publicLine(signer), hostKey: stand.hostKey, gatewayKey: publicLine(keySigner(ed25519())) };
  const options = { host: "app-1", label: "acme-ssh", boundTo: 1, ...keys, node, receiver: stand.receiver };
  const from = ["127.0.0.0/8"];
  assert.equal(printKeyline({ ...options, manifest: stand.manifest, from, expires: "20991231" }, io), 0);
  assert.ok(
    lines.includes(`# Then: gw ssh check ${options.host} --credential ${options.label}`),
    "a command that works",
  );
  appendFileSync(join(stand.folder, "authorized_keys"), `${lines[0]}\n`);
  const check = terminal();
  const status = await checkHost(
    { host: "app-1", credential: "acme-ssh", probe: () => probeHost(stand.options(), stand.target(), signer, WAIT_MS) },
    check.io,
  );
  assert.equal(status, 0, check.lines.join("\n"));
  assert.equal(check.lines.length, 8);
});

real("a key line without restrict is seen from outside", async () => {
  const signer = stand.allow(ed25519(), stand.receiverCommand, "no-user-rc");
  const seen = await probe(stand, signer);
  assert.equal(seen.get("run"), "permitted");
  assert.equal(seen.get("try_command"), "refused");
  assert.equal(seen.get("try_local_forward"), "permitted");
  assert.equal(seen.get("try_remote_forward"), "permitted");
  assert.equal(seen.get("try_agent"), "permitted");
  // A server without root fails half way into granting a terminal; that must not read as a refusal.
  assert.notEqual(seen.get("try_terminal"), "refused");
});

real("a server that takes any variable is seen from outside", async () => {
  const seen = await probe(open, open.allow(ed25519(), open.receiverCommand));
  assert.equal(seen.get("run"), "permitted");
  assert.equal(seen.get("try_environment"), "permitted");
  assert.equal(seen.get("try_terminal"), "refused");
});

real("a key without a forced command is seen from outside, and the check fails", async () => {
  const signer = keySigner(ed25519());
  appendFileSync(join(stand.folder, "authorized_keys"), `restrict ${publicLine(signer)}\n`);
  const { io, lines } = terminal();
  const options = {
    host: "app-1",
    credential: "acme-ssh",
    json: true,
    probe: () => probeHost(stand.options(), stand.target(), signer, WAIT_MS),
  };
  assert.equal(await checkHost(options, io), 1);
  const rows = new Map(
    lines
      .map((line) => JSON.parse(line) as { probe: string; verdict: string; good: boolean })
      .map((row) => [row.probe, row]),
  );
  assert.equal(rows.get("try_command")?.verdict, "permitted");
  assert.equal(rows.get("try_sftp")?.verdict, "permitted");
  assert.equal(rows.get("run")?.good, false);
});

real("a host that does not know the key is unclear, never good", async () => {
  const seen = await probe(stand, keySigner(ed25519()));
  for (const [name, verdict] of seen) assert.equal(verdict, "unclear", name);
});

test("a key line is not printed for values that could leave their place", () => {
  const { io, lines } = terminal();
  const [publicKey, hostKey, gatewayKey] = Array.from({ length: 3 }, () => publicLine(keySigner(ed25519())));
  assert.ok(publicKey !== undefined && hostKey !== undefined && gatewayKey !== undefined);
  const good = { host: "app-1", label: "acme-ssh", boundTo: 1, publicKey, hostKey, gatewayKey };
  assert.equal(printKeyline(good, io), 0);
  assert.ok(lines.includes(`"gateway_key": "${gatewayKey}",`) && lines.includes(`"host_key": "${hostKey}",`));
  assert.equal(printKeyline({ ...good, json: true }, io), 0);
  const told = JSON.parse(lines.at(-1) ?? "") as Record<string, unknown>;
  assert.deepEqual([told["gateway_key"], told["host_key"]], [gatewayKey, hostKey]);
  assert.equal(printKeyline({ ...good, publicKey: "ssh-ed25519 AAAA" }, io), 2);
  assert.equal(printKeyline({ ...good, from: ['"'] }, io), 2);
  assert.equal(printKeyline({ ...good, node: "/usr/bin/node; id" }, io), 2);
});

test("a check without results is not good", async () => {
  assert.equal(await checkHost({ host: "app-1", credential: "acme-ssh", probe: async () => [] }, terminal().io), 1);
});
