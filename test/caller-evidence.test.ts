import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import type { CallerPolicy } from "../src/adapters/platform/linux/evidence.ts";
import { createImageInspector } from "../src/adapters/platform/linux/image/inspect.ts";
import { createSigstoreAuthority } from "../src/adapters/platform/linux/image/testing/sigstore-authority.ts";
import { authorityLine } from "../src/conventions/caller/authority.ts";
import type { CallerEvidence } from "../src/conventions/caller/evidence.ts";
import { digestText } from "../src/kernel/canonical-json.ts";
import { asAttack, noPolicy, openStage, type Stage } from "./caller-stage.ts";

const folder = mkdtempSync(join(tmpdir(), "gw-"));
after(() => rmSync(folder, { recursive: true, force: true }));
const noPerl = existsSync("/var/lib/dpkg/info/perl-base.md5sums") ? false : "perl is not installed by dpkg here";
/** Debian has perl a second time, as a small program around libperl. */
const otherPerl = readdirSync("/usr/bin").find((name) => /^perl5\.\d+-/.test(name));
const PERL = "use IO::Socket::UNIX; $s = IO::Socket::UNIX->new(Peer => $ARGV[0]) or die; <STDIN>;";

describe("what the card claims about a real caller", asAttack, () => {
  test("an image of no package is unsigned, and says so plainly", async () => {
    const found = await evidenceOf((stage) => stage.start());
    assert.equal(found.validity, "unsigned");
    assert.match(authorityLine(found), /^Unsigned/);
    assert.equal(found.signingIdentifier, null);
  });

  test("a program in one file, of no package, may be an interpreter, and the evidence says that nobody can tell", async (t) => {
    const program = buildStatic();
    if (program === null) return t.skip("this compiler links no static programs");
    const found = await evidenceOf((stage) => spawn(program, [stage.socket]));
    assert.deepEqual([found.interpreter, found.interpreterUnsure], [null, true]);
    const dynamic = await evidenceOf((stage) => stage.start());
    assert.equal(dynamic.interpreterUnsure, false);
  });

  test("a distribution's interpreter rests on the package record and its script on nothing", {
    skip: noPerl,
  }, async () => {
    const script = join(folder, "agent.pl");
    writeFileSync(script, PERL);
    const found = await evidenceOf((stage) => spawn("/usr/bin/perl", [script, stage.socket]));
    assert.equal(found.validity, "package_record");
    assert.equal(found.authority.kind, "package");
    assert.deepEqual(found.interpreter, { name: "perl", script });
    assert.match(found.signingIdentifier ?? "", /^perl-base /);
    assert.match(authorityLine(found), /package record, not a signature, running a script that no signature covers$/);
    assert.deepEqual(found.unownedMappings, []);
  });

  test("the same interpreter of another package and under another name is one all the same", {
    skip: otherPerl === undefined ? "there is no second perl here" : false,
  }, async () => {
    const script = join(folder, "other.pl");
    writeFileSync(script, PERL);
    const found = await evidenceOf((stage) => spawn(`/usr/bin/${otherPerl}`, [script, stage.socket]));
    assert.equal(found.interpreter?.script, script);
    assert.match(authorityLine(found), /running a script that no signature covers$/);
  });

  test("a library that no package owns is listed when it is loaded into a genuine program", {
    skip: noPerl,
  }, async () => {
    const library = buildLibrary();
    const found = await evidenceOf((stage) =>
      spawn("/usr/bin/perl", ["-e", PERL, stage.socket], { env: { LD_PRELOAD: library } }),
    );
    assert.equal(found.validity, "package_record");
    assert.deepEqual(found.unownedMappings, [library]);
  });

  test("a library that is no longer the file of its name is listed", { skip: noPerl }, async () => {
    const library = buildLibrary();
    const found = await evidenceOf((stage) =>
      spawn("/usr/bin/perl", ["-e", `unlink("${library}"); ${PERL}`, stage.socket], { env: { LD_PRELOAD: library } }),
    );
    assert.deepEqual(found.unownedMappings, [`${library} (deleted)`]);
  });

  test("an image that an operator enrolled carries that authority, read anew for every process", async () => {
    const enrolled = new Map<string, { name: string; by: string | null }>();
    const policy = (): CallerPolicy => ({ ...noPolicy, enrolled });
    const stage = openStage({ policy });
    try {
      assert.equal((await arrive(stage)).authority.kind, "unsigned");
      const digest = createHash("sha256").update(readFileSync(stage.attackerPath)).digest("hex");
      enrolled.set(`sha256:${digest}`, { name: "acme agent", by: "ada" });
      const found = await arrive(stage);
      assert.deepEqual(found.authority, { kind: "enrolled", name: "acme agent", by: "ada" });
      assert.equal(found.validity, "valid");
      assert.equal(found.signingIdentifier, "acme agent");
    } finally {
      stage.close();
    }
  });

  test("an image with a Sigstore bundle carries its signer, checked off the loop", async () => {
    const authority = createSigstoreAuthority();
    const root = join(folder, "root.json");
    writeFileSync(root, JSON.stringify(authority.trustedRoot));
    const trustedRootDigest = digestText(JSON.stringify(authority.trustedRoot));
    const identities = [{ name: "Acme", subject: "dev@example.com", issuer: "https://id.example.com" }];
    const stage = openStage({
      policy: () => ({ ...noPolicy, sigstore: { trustedRoot: root, trustedRootDigest, bundles: folder, identities } }),
    });
    try {
      const image = readFileSync(stage.attackerPath);
      const hex = createHash("sha256").update(image).digest("hex");
      writeFileSync(join(folder, `${hex}.sigstore.json`), JSON.stringify(authority.signFile(image)));
      const found = await arrive(stage);
      assert.equal(found.validity, "valid");
      assert.equal(found.signingIdentifier, "dev@example.com");
      assert.match(found.designatedRequirement ?? "", /^sha256:/);
    } finally {
      stage.close();
    }
  });
});

test("a digest is made once for a file, off the loop, and anew when the file has changed", asAttack, async () => {
  const inspector = createImageInspector(() => ({ sigstore: null, imaKeys: [] }));
  const path = join(folder, "large");
  writeFileSync(path, Buffer.alloc(30_000_000, 1));
  const look = async (): Promise<string> => {
    const fd = openSync(path, "r");
    try {
      const answer = await inspector.inspect({ fd, directory: null, path, mappings: [] });
      return answer.kind === "read" ? answer.digests.sha256 : assert.fail(answer.why);
    } finally {
      closeSync(fd);
    }
  };
  let turns = 0;
  let counting = true;
  const count = (): void => {
    turns++;
    if (counting) setImmediate(count);
  };
  count();
  const [first, same] = await Promise.all([look(), look()]);
  counting = false;
  assert.equal(first, same);
  assert.ok(turns > 10, "the loop went on turning");
  assert.equal(first, `sha256:${createHash("sha256").update(readFileSync(path)).digest("hex")}`);
  writeFileSync(path, "changed", { flag: "a" });
  assert.notEqual(await look(), first);
});

async function evidenceOf(start: (stage: Stage) => unknown): Promise<CallerEvidence> {
  const stage = openStage();
  const started = start(stage) as { kill?(signal: string): void; say?(command: string): Promise<string> };
  try {
    await started.say?.(`connect ${stage.socket}`);
    return (await (await stage.next()).caller).evidence;
  } finally {
    started.kill?.("SIGKILL");
    stage.close();
  }
}

async function arrive(stage: Stage): Promise<CallerEvidence> {
  await stage.start().say(`connect ${stage.socket}`);
  return (await (await stage.next()).caller).evidence;
}

/** Connects to the socket that it is given and waits for its input to end. */
function buildStatic(): string | null {
  const [source, program] = [join(folder, "static.c"), join(folder, "static")];
  writeFileSync(
    source,
    `#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
int main(int c, char **v) {
  struct sockaddr_un a = { .sun_family = AF_UNIX };
  char b;
  strncpy(a.sun_path, v[1], sizeof a.sun_path - 1);
  if (connect(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&a, sizeof a)) return 1;
  return read(0, &b, 1) < 0;
}`,
  );
  return spawnSync("cc", ["-static", "-o", program, source]).status === 0 ? program : null;
}

function buildLibrary(): string {
  const place = mkdtempSync(join(folder, "library-"));
  writeFileSync(join(place, "x.c"), "int gw_test_symbol(void) { return 1; }\n");
  const library = join(place, "x.so");
  const done = spawnSync("cc", ["-shared", "-fPIC", "-o", library, join(place, "x.c")], { encoding: "utf8" });
  assert.equal(done.status, 0, done.stderr);
  return library;
}
