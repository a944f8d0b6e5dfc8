import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { chmodSync, copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import koffi from "koffi";
import { codeOf, demoPack, type Gateway, GW, Home, type Identity, type Members, makeFolder } from "./support/home.ts";
import { cardOf } from "./support/small-agent.ts";

const owner: Identity = { uid: 64_123, gid: 64_123 };

/** Only root writes the security.ima attribute; what is tested runs as somebody else. */
const cannot = ((): string | undefined => {
  if (process.platform !== "linux") return "IMA is Linux's";
  if (process.getuid?.() !== 0) return "only root may write the security.ima attribute";
  const clone = join(dirname(dirname(GW)), "package.json");
  const reached = spawnSync("test", ["-r", clone, "-a", "-x", process.execPath], owner);
  return reached.status === 0 ? undefined : "an unprivileged user cannot read this clone";
})();

describe(
  "an IMA signature, from the operator's trust in a key to the card",
  cannot === undefined ? {} : { skip: cannot },
  () => {
    const folder = makeFolder();
    const image = join(folder, "signed-perl");
    const ours = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const theirs = generateKeyPairSync("rsa", { modulusLength: 2_048 });
    let home: Home;
    let gateway: Gateway;
    let kept = true;

    before(async () => {
      chmodSync(folder, 0o755);
      copyFileSync("/usr/bin/perl", image);
      chmodSync(image, 0o755);
      kept = signImage(image, ours.privateKey);
      if (!kept) return;
      const place = makeFolder();
      chmodSync(place, 0o755);
      home = await new Home(place, owner).init();
      await home.addCredential("demo-token", "http://127.0.0.1:9");
      await home.trustPack("demo", demoPack("http://127.0.0.1:9"));
      gateway = await home.up();
    });

    after(async () => {
      await gateway?.end();
    });

    const lineOnCard = async () => String((await cardOf(home, image))["authority"]);

    const keyFile = (name: string, key: KeyObject): string => {
      const path = join(folder, name);
      writeFileSync(path, key.export({ type: "spki", format: "pem" }), { mode: 0o644 });
      return path;
    };

    test("a signature counts while policy names its key, under the name that the operator gave", async (context) => {
      if (!kept) return context.skip("this file system keeps no security attributes");
      assert.match(await lineOnCard(), /^Unsigned.*IMA key 0a0b0c0d is not one that policy names/);
      await home.must(["caller", "trust", "Other", "--ima-key", keyFile("theirs.pem", theirs.publicKey)]);
      assert.match(await lineOnCard(), /^Unsigned/);
      await home.must(["caller", "trust", "Acme build", "--ima-key", keyFile("ours.pem", ours.publicKey)]);
      assert.match(await lineOnCard(), /^Image signed \(IMA\) by Acme build, key 0a0b0c0d$/);
      const rows = JSON.parse((await home.run(["caller", "list", "--json"])).out) as readonly Members[];
      assert.deepEqual(
        rows.map(({ kind, authority }) => [kind, authority]),
        [
          ["ima", "Acme build"],
          ["ima", "Other"],
        ],
      );
      const again = await home.operator(["caller", "trust", "Twice", "--ima-key", keyFile("ours.pem", ours.publicKey)]);
      assert.equal(codeOf(again), "caller_signer_invalid");
      await home.must(["caller", "remove", "Acme build"]);
      assert.match(await lineOnCard(), /^Unsigned/);
    });
  },
);

function signImage(path: string, key: KeyObject): boolean {
  const signature = sign("sha256", readFileSync(path), key);
  const setxattr = koffi
    .load(null)
    .func("int setxattr(const char *path, const char *name, void *value, size_t size, int flags)");
  const header = Buffer.from([3, 2, 4, 0x0a, 0x0b, 0x0c, 0x0d, signature.length >> 8, signature.length & 0xff]);
  const value = Buffer.concat([header, signature]);
  return setxattr(path, "security.ima", value, value.length, 0) === 0;
}
