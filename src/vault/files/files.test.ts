import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { founding, PASSPHRASE, ports, refuses, refusesLater, secret } from "../testing/fixture.ts";
import { nodeSteps, replaceFile, type WriteSteps } from "./atomic-write.ts";
import { readTries, tryDelayMs, unlockCounted } from "./attempts.ts";
import { readKeyFile, readSystemdCredential, SYSTEMD_CREDENTIAL, writeKeyFile } from "./key-file.ts";
import { withLock } from "./lock.ts";
import { checkPrivateFolder, readPlainFile, readPrivateFile } from "./private-file.ts";

const root = mkdtempSync(join(tmpdir(), "gw-"));
after(() => rmSync(root, { recursive: true }));
const random = { bytes: (length: number) => randomBytes(length) };
let folders = 0;
const freshFolder = () => {
  const path = join(root, `f${folders++}`);
  mkdirSync(path, { mode: 0o700 });
  return path;
};
const freshFile = (text = "text", mode = 0o600) => {
  const path = join(freshFolder(), "file");
  writeFileSync(path, text, { mode });
  chmodSync(path, mode);
  return path;
};

test("a private file of ours is read whole, and a missing one is not there", () => {
  assert.equal(readPrivateFile(freshFile(), 100)?.toString(), "text");
  assert.equal(readPrivateFile(join(root, "nothing"), 100), undefined);
  assert.equal(readPrivateFile(freshFile(""), 100)?.length, 0);
});

for (const mode of [0o640, 0o604, 0o660, 0o610, 0o601, 0o666]) {
  test(`a file of mode ${mode.toString(8)} is refused with the command that mends it`, () => {
    const path = freshFile("text", mode);
    assert.throws(
      () => readPrivateFile(path, 100),
      (error: Error & { code?: string }) => {
        assert.equal(error.code, "file_permissions_open");
        assert.ok(error.message.includes(`chmod 600 ${path}`));
        return true;
      },
    );
  });
}

test("a folder that others can enter is refused with the command that mends it", () => {
  const folder = freshFolder();
  assert.equal(checkPrivateFolder(folder), true);
  chmodSync(folder, 0o750);
  assert.throws(
    () => checkPrivateFolder(folder),
    (error: Error & { code?: string }) => {
      assert.equal(error.code, "file_permissions_open");
      assert.ok(error.message.includes(`chmod 700 ${folder}`));
      return true;
    },
  );
});

test("links are not followed, neither to a file nor to a folder", () => {
  const folder = freshFolder();
  symlinkSync(freshFile(), join(folder, "link"));
  refuses(() => readPrivateFile(join(folder, "link"), 100), "file_not_regular");
  symlinkSync(freshFolder(), join(folder, "home"));
  refuses(() => checkPrivateFolder(join(folder, "home")), "file_not_regular");
  assert.throws(() => readPrivateFile(join(folder, "link"), 100), /is a link/);
});

test("a pipe or a folder in the place of a file is refused and does not hold us up", () => {
  const folder = freshFolder();
  execFileSync("mkfifo", ["-m", "600", join(folder, "pipe")]);
  refuses(() => readPrivateFile(join(folder, "pipe"), 100), "file_not_regular");
  refuses(() => readPrivateFile(folder, 100), "file_not_regular");
  assert.throws(() => readPrivateFile(folder, 100), /is a folder/);
  assert.throws(() => readPrivateFile(join(folder, "pipe"), 100), /is a pipe/);
});

test("a file larger than it can be is refused", () => {
  refuses(() => readPrivateFile(freshFile("x".repeat(101)), 100), "file_too_large");
  assert.equal(readPrivateFile(freshFile("x".repeat(100)), 100)?.length, 100);
});

test("a small file takes no more room than it needs, whatever the largest may have", () => {
  assert.equal(readPrivateFile(freshFile(), 2 ** 45)?.toString(), "text");
});

test("a file that has more than it says is read whole, up to the bound", (context) => {
  const path = "/proc/self/maps";
  if (!existsSync(path)) return context.skip("there are no such files on this system");
  assert.equal(statSync(path).size, 0);
  assert.match(readPlainFile(path, 1 << 22)?.toString() ?? "", /\[stack\]/);
  for (const most of [0, 1, 4_096, 4_097]) refuses(() => readPlainFile(path, most), "file_too_large");
});

test("another user's file is refused", (context) => {
  if (process.geteuid?.() === 0) return context.skip("root owns what it reads; the unprivileged run shows it");
  refuses(() => readPrivateFile("/etc/hostname", 10_000), "file_not_owned");
});

test("a replaced file has the new bytes, the mode 0600 and leaves nothing beside it", () => {
  const path = freshFile("old");
  replaceFile(path, Buffer.from("new"), random);
  assert.equal(readFileSync(path, "utf8"), "new");
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(join(path, "..")), ["file"]);
});

const steps = ["list", "create", "write", "sync", "close", "rename", "syncFolder"] as const;
for (const step of steps) {
  test(`when ${step} fails, the old or the new file is there, whole, and the failure is told`, () => {
    const path = freshFile("the old bytes");
    const failing: WriteSteps = {
      ...nodeSteps,
      [step]: () => {
        throw Object.assign(new Error("no space"), { code: "ENOSPC" });
      },
    };
    refuses(() => replaceFile(path, Buffer.from("the new bytes"), random, failing), "file_not_written");
    assert.equal(readFileSync(path, "utf8"), step === "syncFolder" ? "the new bytes" : "the old bytes");
    if (step !== "close") assert.deepEqual(readdirSync(join(path, "..")), ["file"]);
    replaceFile(path, Buffer.from("after it"), random);
    assert.equal(readFileSync(path, "utf8"), "after it");
    assert.deepEqual(readdirSync(join(path, "..")), ["file"]);
  });
}

test("a disk that takes a few bytes at a time still gets the whole file", () => {
  const path = freshFile("old");
  const slow: WriteSteps = {
    ...nodeSteps,
    write: (fd, bytes, from) => nodeSteps.write(fd, bytes.subarray(0, from + 3), from),
  };
  replaceFile(path, Buffer.from("a longer text"), random, slow);
  assert.equal(readFileSync(path, "utf8"), "a longer text");
});

test("a writer that is killed at any moment leaves a whole file and a free lock, ten times", async () => {
  const folder = freshFolder();
  const [path, lock] = [join(folder, "file"), join(folder, "lock")];
  for (let round = 0; round < 10; round++) {
    const writer = spawn(process.execPath, [join(import.meta.dirname, "../testing/rewrite.ts"), path, lock], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let written = 0;
    writer.stdout.on("data", (letters: Buffer) => {
      written += letters.length;
      if (written > round) writer.kill("SIGKILL");
    });
    await once(writer, "exit");
    assert.equal(writer.signalCode, "SIGKILL", "it was writing until then");
    const text = readFileSync(path, "utf8");
    assert.equal(text.length, 200_000);
    assert.equal(new Set(text).size, 1);
    await withLock(lock, () => replaceFile(path, Buffer.from("z".repeat(200_000)), random), 0);
    assert.deepEqual(readdirSync(folder).sort(), ["file", "lock"]);
  }
});

test("a second change waits for the first, and gives up with a code", async () => {
  const lock = join(freshFolder(), "lock");
  const order: string[] = [];
  await withLock(lock, async () => {
    await refusesLater(
      withLock(lock, () => order.push("never"), 0),
      "vault_busy",
    );
    order.push("first");
  });
  await withLock(lock, () => order.push("second"), 0);
  assert.deepEqual(order, ["first", "second"]);
  assert.equal(statSync(lock).mode & 0o777, 0o600);
});

test("a lock that is a planted link is not followed", async () => {
  const folder = freshFolder();
  symlinkSync(freshFile(), join(folder, "lock"));
  await assert.rejects(withLock(join(folder, "lock"), () => 0, 0));
});

test("a key file opens the service compartment alone, and only that of its vault", async () => {
  const { vault, operator } = await founding();
  const path = join(freshFolder(), "service.key");
  writeKeyFile(path, vault.vaultId, operator.serviceKey, random);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.ok(readKeyFile(path, vault.vaultId).equals(operator.serviceKey));
  refuses(() => readKeyFile(path, "vlt_00000000000000000000000000"), "service_key_wrong");
  chmodSync(path, 0o640);
  refuses(() => readKeyFile(path, vault.vaultId), "file_permissions_open");
});

test("a systemd credential is read from its folder, readable for the group but for nobody else", async () => {
  const { vault, operator } = await founding();
  const folder = freshFolder();
  const path = join(folder, SYSTEMD_CREDENTIAL);
  writeKeyFile(path, vault.vaultId, operator.serviceKey, random);
  chmodSync(path, 0o440);
  assert.ok(readSystemdCredential(folder, vault.vaultId).equals(operator.serviceKey));
  for (const mode of [0o444, 0o460, 0o441]) {
    chmodSync(path, mode);
    refuses(() => readSystemdCredential(folder, vault.vaultId), "file_permissions_open");
  }
});

test("a key file that is anything else is refused, and the refusal does not repeat it", () => {
  const texts = [
    "",
    "x",
    "gw-service-key-v1 vlt_00000000000000000000000000 short\n",
    `gw-service-key-v1 vlt_00000000000000000000000000 ${"A".repeat(44)}\n`,
  ];
  for (const text of texts)
    refuses(() => readKeyFile(freshFile(text), "vlt_00000000000000000000000000"), "key_file_malformed");
  refuses(() => readKeyFile(join(root, "none"), "vlt_00000000000000000000000000"), "key_file_malformed");
});

test("wrong passphrases are counted before they are tried, slow the next ones down, and a right one ends the count", async () => {
  const { vault } = await founding();
  const folder = freshFolder();
  const slept: number[] = [];
  const unlockPorts = { ...ports, sleep: { sleep: async (ms: number) => void slept.push(ms) } };
  const attempt = (phrase: string) => unlockCounted(folder, vault, "ada", secret(phrase), unlockPorts);
  for (let failed = 1; failed <= 5; failed++) {
    await assert.rejects(
      attempt("a-wrong-passphrase"),
      (error: Error & { code?: string; extra?: Record<string, unknown> }) => {
        assert.equal(error.code, "passphrase_wrong");
        assert.equal(error.extra?.["failed_attempts"], failed);
        return true;
      },
    );
  }
  assert.deepEqual(slept, [0, 0, 0, 1_000, 2_000]);
  const { before } = await attempt(PASSPHRASE);
  assert.equal(before.failed, 5);
  assert.equal((await attempt(PASSPHRASE)).before.failed, 0);
});

test("two at once are no guess of each other's; one that was killed while it tried is", async () => {
  const { vault } = await founding();
  const folder = freshFolder();
  const path = join(folder, "unlock-attempts.json");
  const attempt = (meanwhile: () => Promise<unknown> = async () => undefined) => {
    const sleep = { sleep: async () => void (await meanwhile()) };
    return unlockCounted(folder, vault, "ada", secret(PASSPHRASE), { ...ports, sleep });
  };
  const outer = await attempt(async () => assert.equal((await attempt()).before.failed, 0));
  assert.equal(outer.before.failed, 0);
  assert.deepEqual(
    Object.keys(JSON.parse(readFileSync(path, "utf8"))).sort(),
    ["failed", "last_at"],
    "as 0.1 reads it",
  );
  const { pid } = spawnSync("true");
  const killed = { failed: 0, last_at: null, open: [pid] };
  writeFileSync(path, `${JSON.stringify(killed, null, 2)}\n`, { mode: 0o600 });
  assert.equal((await attempt()).before.failed, 1, "it ended and did not say that it was right");
  assert.equal((await attempt()).before.failed, 0);
});

test("a damaged count costs the longest wait, and the wait has a cap", () => {
  const path = freshFile('{"failed": -1}');
  assert.equal(tryDelayMs(readTries(path).failed), 30_000);
  assert.deepEqual([0, 2, 3, 4, 7, 8, 1e9].map(tryDelayMs), [0, 0, 1_000, 2_000, 16_000, 30_000, 30_000]);
});
