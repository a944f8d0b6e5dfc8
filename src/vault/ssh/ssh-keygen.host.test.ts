import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { Secret } from "../../kernel/secret.ts";
import { whole } from "../../kernel/testing/whole.ts";
import { importSshKey } from "./import-key.ts";

/** Against this machine's own ssh-keygen, which needs an account to run under: the invoking user's. */
const folder = mkdtempSync(join(tmpdir(), "gw-"));
after(() => rmSync(folder, { recursive: true }));

const kinds = [
  ["-t", "ed25519"],
  ["-t", "ecdsa", "-b", "256"],
  ["-t", "ecdsa", "-b", "521"],
  ["-t", "rsa", "-b", "3072"],
];
const ciphers = ["none", "aes256-ctr", "aes192-cbc", "aes256-gcm@openssh.com", "chacha20-poly1305@openssh.com"];
const probe = spawnSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", join(folder, "probe")]);
const skip = probe.status === 0 ? false : "ssh-keygen is missing, or refuses to run for this user";

for (const [index, kind] of kinds.entries()) {
  // How a key is locked does not depend on its kind: the first is locked with every cipher, the others with one of them each.
  const tried = whole || index === 0 ? ciphers : ["none", ciphers[1 + index] ?? ""];
  test(`what ssh-keygen ${kind.join(" ")} writes is read, with ${tried.join(", ")}`, { skip }, async () => {
    const path = join(folder, `k${index}`);
    for (const cipher of tried) {
      const locked = cipher !== "none";
      // One key, made in the clear and then locked with one cipher after another: finding its primes is what takes long.
      const lock = ["-p", "-P", cipher === tried[1] ? "" : "a phrase", "-N", "a phrase", "-Z", cipher, "-a", "2"];
      const made = spawnSync("ssh-keygen", ["-q", ...(locked ? lock : [...kind, "-N", ""]), "-f", path]);
      assert.equal(made.status, 0, String(made.stderr));
      const { publicKey, privateKey } = await importSshKey(
        Secret.take(readFileSync(path)),
        locked ? Secret.fromText("a phrase") : undefined,
      );
      assert.ok(readFileSync(`${path}.pub`, "utf8").startsWith(`${publicKey} `), cipher);
      privateKey.wipe();
    }
  });
}

test("a key in the old PEM form, and one in PKCS8 that ssh-keygen exported, are read", { skip }, async () => {
  for (const form of ["PEM", "PKCS8"]) {
    const path = join(folder, form);
    assert.equal(
      spawnSync("ssh-keygen", ["-q", "-t", "rsa", "-b", "2048", "-m", form, "-N", "a phrase", "-f", path]).status,
      0,
    );
    const { publicKey } = await importSshKey(Secret.take(readFileSync(path)), Secret.fromText("a phrase"));
    assert.ok(readFileSync(`${path}.pub`, "utf8").startsWith(`${publicKey} `), form);
  }
});
