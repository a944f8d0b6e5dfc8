import assert from "node:assert/strict";
import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { after, describe, test } from "node:test";
import { asAttack, buildAttacker, startAttacker } from "./caller-stage.ts";

const PROGRAM = join(import.meta.dirname, "fixtures", "hardened-program.ts");
const LAUNCHER = join(import.meta.dirname, "..", "bin", "gw");
const SECRET = "hunter2-in-the-environment";
const running: ChildProcessWithoutNullStreams[] = [];
after(() => {
  for (const program of running) program.kill("SIGKILL");
});

describe("our programs do not let the same user into them", asAttack, () => {
  test("SIGUSR1 opens no inspector; without our flag it would", async () => {
    const program = await start();
    program.kill("SIGUSR1");
    assert.equal(await ask(program, "inspector"), "closed");
    assert.equal(program.exitCode, null);
    const bare = spawn(process.execPath, ["--inspect-port=0", "-e", "console.log('up'); setInterval(()=>{}, 1000)"]);
    running.push(bare);
    await once(bare.stdout, "data");
    bare.kill("SIGUSR1");
    assert.match(String((await once(bare.stderr, "data"))[0]), /Debugger listening/);
  });

  test("a program started without the flag refuses to run", async () => {
    assert.equal(await firstLine(launch([PROGRAM])), "program_debuggable");
  });

  test("an open inspector refuses", async () => {
    const flags = ["--disable-sigusr1", "--inspect=127.0.0.1:0", PROGRAM];
    assert.equal(await firstLine(launch(flags)), "program_debuggable");
  });

  for (const name of ["NODE_OPTIONS", "LD_PRELOAD", "LD_AUDIT"]) {
    test(`${name} that reached the program refuses`, async () => {
      const value = name === "NODE_OPTIONS" ? "--no-warnings" : "";
      const program = launch(["--disable-sigusr1", PROGRAM], { [name]: value });
      assert.equal(await firstLine(program), "program_debuggable");
    });
  }

  test("a tracer cannot attach", async () => {
    const program = await start();
    const attacker = startAttacker([buildAttacker()]);
    running.push(attacker.process);
    await assert.rejects(attacker.say(`trace ${program.pid}`), /Operation not permitted/);
  });

  test("a program that is traced from its start refuses", { skip: missing("strace") }, async () => {
    const traced = spawn("strace", ["-f", "-o", "/dev/null", process.execPath, "--disable-sigusr1", PROGRAM]);
    running.push(traced);
    assert.equal(await firstLine(traced), "program_traced");
  });

  test("memory, environment and descriptors are closed to the same user", async () => {
    const program = await start();
    for (const name of ["environ", "mem", "maps", "auxv"]) {
      assert.throws(() => readFileSync(`/proc/${program.pid}/${name}`), { code: /EACCES|EPERM/ }, name);
    }
    assert.throws(() => readFileSync(`/proc/${program.pid}/fd/0`), { code: /EACCES|EPERM/ });
  });

  test("a program that is a caller itself stays open to the gateway's look, and is hardened otherwise", async () => {
    const program = await start(["--inspectable"]);
    assert.ok(readFileSync(`/proc/${program.pid}/maps`, "utf8").includes("[stack]"));
    program.kill("SIGUSR1");
    assert.equal(await ask(program, "inspector"), "closed");
  });

  test("no core files, no new privileges, nothing readable by others", async () => {
    const program = await start();
    assert.match(readFileSync(`/proc/${program.pid}/limits`, "utf8"), /^Max core file size +0 +0 /m);
    assert.match(readFileSync(`/proc/${program.pid}/status`, "utf8"), /^NoNewPrivs:\t1$/m);
    assert.equal(await ask(program, "umask"), "77");
  });

  test("only the variables that the launcher names stay in the environment that children would inherit", async () => {
    const variables = {
      NODE_EXTRA_CA_CERTS: "/nowhere",
      SSL_CERT_FILE: "/nowhere",
      LD_BIND_NOW: "1",
      OPENSSL_X: "1",
      SOME_LIBRARY_PATH: "/nowhere",
      LANG: "C",
      GW_KEPT: "1",
    };
    const program = await start([], variables);
    const names = (await ask(program, "variables")).split(" ");
    assert.ok(names.includes("LANG") && names.includes("GW_KEPT"));
    assert.deepEqual(
      names.filter((name) => /^(NODE|LD|SSL|OPENSSL|SOME)_/.test(name)),
      [],
    );
  });
});

describe("the launcher keeps what bends a program away from it", asAttack, () => {
  const folder = mkdtempSync(join(tmpdir(), "gw-"));
  after(() => rmSync(folder, { recursive: true, force: true }));

  test("NODE_OPTIONS and LD_PRELOAD do not reach the program", async () => {
    const launcher = installLauncher(folder);
    const marker = join(folder, "loaded");
    const preload = join(folder, "preload.cjs");
    writeFileSync(preload, `require("node:fs").appendFileSync(${JSON.stringify(marker)}, "node options\\n")`);
    const library = buildPreload(folder, marker);
    const control = spawnSync(process.execPath, ["-e", ""], {
      env: { NODE_OPTIONS: `--require ${preload}`, LD_PRELOAD: library },
    });
    assert.equal(control.status, 0);
    assert.match(readFileSync(marker, "utf8"), /node options/);
    assert.match(readFileSync(marker, "utf8"), /preloaded into .*node/);
    rmSync(marker);
    const env = {
      PATH: "/usr/bin:/bin",
      NODE_OPTIONS: `--require ${preload}`,
      LD_PRELOAD: library,
      SSL_CERT_DIR: "/x",
    };
    const program = spawn(launcher, [], { env });
    running.push(program);
    assert.equal(await firstLine(program), "ready");
    assert.doesNotMatch(await ask(program, "variables"), /NODE_|LD_|SSL_/);
    const loaded = existsSync(marker) ? readFileSync(marker, "utf8") : "";
    assert.doesNotMatch(loaded, /node options|preloaded into .*node/);
  });
});

/** The real launcher in a tree of its own, so that it starts the fixture as its program. */
function installLauncher(folder: string): string {
  for (const name of ["bin", "src/programs", "node_modules/node/bin"])
    mkdirSync(join(folder, name), { recursive: true });
  for (const name of ["gw", "environment"]) copyFileSync(join(dirname(LAUNCHER), name), join(folder, "bin", name));
  symlinkSync(process.execPath, join(folder, "node_modules", "node", "bin", "node"));
  writeFileSync(join(folder, "src", "programs", "gw.ts"), `await import(${JSON.stringify(PROGRAM)});\n`);
  writeFileSync(join(folder, "package.json"), '{"type":"module"}');
  return join(folder, "bin", "gw");
}

function buildPreload(folder: string, marker: string): string {
  const source = join(folder, "preload.c");
  const library = join(folder, "preload.so");
  writeFileSync(
    source,
    `#include <stdio.h>
    #include <unistd.h>
    __attribute__((constructor)) static void here(void) {
      char path[4096] = {0};
      FILE *marker = fopen("${marker}", "a");
      if (readlink("/proc/self/exe", path, sizeof(path) - 1) > 0 && marker != NULL) fprintf(marker, "preloaded into %s\\n", path);
      if (marker != NULL) fclose(marker);
    }`,
  );
  const done = spawnSync("cc", ["-shared", "-fPIC", "-o", library, source], { encoding: "utf8" });
  assert.equal(done.status, 0, done.stderr);
  return library;
}

function launch(argv: readonly string[], env: Readonly<Record<string, string>> = {}): ChildProcessWithoutNullStreams {
  const program = spawn(process.execPath, [...argv], { env: { PATH: "/usr/bin:/bin", SECRET, ...env } });
  running.push(program);
  return program;
}

async function start(
  flags: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<ChildProcessWithoutNullStreams> {
  const program = launch(["--disable-sigusr1", PROGRAM, ...flags], env);
  assert.equal(await firstLine(program), "ready");
  return program;
}

function firstLine(program: ChildProcessWithoutNullStreams): Promise<string> {
  return new Promise((resolve, reject) => {
    const lines = createInterface(program.stdout);
    lines.once("line", (line) => {
      lines.close();
      resolve(line);
    });
    program.once("error", reject);
    program.once("close", () => reject(new Error("the program ended without a word")));
  });
}

function ask(program: ChildProcessWithoutNullStreams, question: string): Promise<string> {
  const answer = firstLine(program);
  program.stdin.write(`${question}\n`);
  return answer;
}

function missing(command: string): string | false {
  return spawnSync(command, ["--version"]).error === undefined ? false : `${command} is not installed`;
}
