import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { createSigstoreAuthority } from "../src/adapters/platform/linux/image/testing/sigstore-authority.ts";
import { asUser, codeOf, demoPack, type Gateway, Home, type Members, makeFolder, startAgent } from "./support/home.ts";
import { idOf } from "./support/reply.ts";
import { cardOf } from "./support/small-agent.ts";

const SUBJECT = "dev@example.com";
const ISSUER = "https://id.example.com";

/** Nobody vouches for it, and no signature of it is known. */
const NOBODYS = /^Unsigned: nobody vouches for this image, running a program/;

describe("who signed a caller's program, from the operator's trust to the card", asUser, () => {
  const folder = makeFolder();
  const authority = createSigstoreAuthority();
  // All of it is read for each signature, so it is a small one; a copy, because a package vouches for the one it is copied from.
  const program = join(folder, "perl");
  copyFileSync("/usr/bin/perl", program);
  const image = readFileSync(program);
  const imageDigest = `sha256:${createHash("sha256").update(image).digest("hex")}`;
  let home: Home;
  let gateway: Gateway;

  before(async () => {
    home = await new Home(folder).init();
    await home.addCredential("demo-token", "http://127.0.0.1:9");
    await home.trustPack("demo", demoPack("http://127.0.0.1:9"));
    gateway = await home.up();
  });

  after(async () => {
    await gateway?.end();
  });

  const given = (name: string, content: unknown): string => {
    const path = join(folder, name);
    writeFileSync(path, JSON.stringify(content));
    return path;
  };
  const trust = (...args: readonly string[]) => home.operator(["caller", "trust", ...args]);
  const list = async () => JSON.parse((await home.run(["caller", "list", "--json"])).out) as readonly Members[];

  const lineOnCard = async () => String((await cardOf(home, program))["authority"]);

  /** Nobody vouches for it by a signature; it is the very program that the gateway runs on. */
  async function lineOfOwnNode(): Promise<string> {
    const agent = await startAgent(home);
    await agent.ask("POST", "/v1/runs", { purpose: "to be seen", actions: ["demo.thing.get"] });
    const [approval = {}] = await home.approvals();
    await home.approve(idOf(approval, "approval_id"));
    agent.close();
    return String((approval["card"] as Members)["authority"]);
  }

  test("an identity, a root or a key that cannot be used is refused before anything is signed", async () => {
    const root = given("root.json", authority.trustedRoot);
    const half = given("half.json", { ...authority.trustedRoot, ctlogs: [] });
    const bad: readonly (readonly string[])[] = [
      ["Acme"],
      ["Acme", "--subject", SUBJECT],
      ["Acme", "--subject", SUBJECT, "--issuer", "http://id.example.com", "--root", root],
      ["Acme", "--subject", SUBJECT, "--issuer", ISSUER],
      ["Acme", "--subject", SUBJECT, "--issuer", ISSUER, "--root", half],
      ["Acme", "--subject", SUBJECT, "--issuer", ISSUER, "--root", given("text.json", "no root")],
      ["Acme", "--subject", SUBJECT, "--issuer", ISSUER, "--root", "/dev/zero"],
      ["Acme", "--subject", "a b", "--issuer", ISSUER, "--root", root],
      ["Ac\u202eme", "--subject", SUBJECT, "--issuer", ISSUER, "--root", root],
      ["Acme", "--ima-key", root],
      ["Acme", "--ima-key", root, "--subject", SUBJECT],
    ];
    for (const args of bad) {
      const done = await trust(...args);
      assert.deepEqual([done.code, codeOf(done)], [1, "caller_signer_invalid"], args.join(" "));
    }
    assert.deepEqual(await list(), []);
    const early = await home.run(["caller", "bundle", "/bin/true", given("b.json", {})]);
    assert.equal(codeOf(early), "caller_signer_invalid");
  });

  test("a trusted identity stands in signed policy, and a program that it signed is shown under it", async () => {
    assert.match(await lineOnCard(), NOBODYS);
    const done = await trust(
      "Acme",
      "--subject",
      SUBJECT,
      "--issuer",
      ISSUER,
      "--root",
      given("root.json", authority.trustedRoot),
    );
    assert.equal(done.code, 0, done.err);
    const [row] = await list();
    assert.deepEqual(
      [row?.["kind"], row?.["authority"], row?.["subject"], row?.["issuer"]],
      ["sigstore", "Acme", SUBJECT, ISSUER],
    );
    // Trust in a signer says nothing of a program without a bundle.
    assert.match(await lineOnCard(), NOBODYS);
    assert.match(await lineOfOwnNode(), /^This gateway's own Node, running a script/);
    const filed = await home.run(["caller", "bundle", program, given("b.json", authority.signFile(image)), "--json"]);
    assert.equal(filed.code, 0, filed.err);
    assert.deepEqual((JSON.parse(filed.out) as Members)["image_digest"], imageDigest);
    const card = await cardOf(home, program);
    assert.match(
      String(card["authority"]),
      /^Image signed \(Sigstore\) by dev@example\.com, vouched for by https:\/\/id\.example\.com, trusted as Acme, running/,
    );
    const caller = card["caller"] as Members;
    assert.deepEqual([caller["validity"], caller["signing_identifier"]], ["valid", SUBJECT]);
  });

  test("a bundle of another program or another authority is not filed", async () => {
    const other = "/bin/true";
    const own = readFileSync(other);
    for (const bundle of [
      authority.signFile(Buffer.from("another")),
      createSigstoreAuthority().signFile(own),
      {},
      [],
    ]) {
      const done = await home.run(["caller", "bundle", other, given("b.json", bundle)]);
      assert.deepEqual([done.code, codeOf(done)], [1, "caller_signer_invalid"]);
    }
    assert.equal((await home.run(["caller", "bundle", other, given("b.json", authority.signFile(own))])).code, 0);
    assert.match(await lineOnCard(), /trusted as Acme/);
  });

  test("a signer whom policy does not name leaves the program unsigned, and the card says whose signature it is", async () => {
    const bundle = given("b.json", authority.signFile(image, { subject: "mallory@example.com" }));
    const filed = await home.run(["caller", "bundle", program, bundle]);
    assert.equal(filed.code, 0, filed.err);
    assert.match(await lineOnCard(), /^Unsigned.*mallory@example\.com, whom policy does not name/);
    await home.run(["caller", "bundle", program, given("b.json", authority.signFile(image))]);
    assert.match(await lineOnCard(), /trusted as Acme/);
  });

  test("a trusted root that was changed on disk vouches for nobody", async () => {
    const place = join(home.folder, "sigstore");
    const name = readdirSync(place).find((file) => file.endsWith(".trusted-root.json")) ?? "";
    const before = readFileSync(join(place, name));
    writeFileSync(join(place, name), JSON.stringify(createSigstoreAuthority().trustedRoot));
    assert.match(await lineOnCard(), /^INVALID Sigstore signature: the trusted root is not the one/);
    rmSync(join(place, name));
    assert.match(await lineOnCard(), /^INVALID Sigstore signature/);
    writeFileSync(join(place, name), before);
    assert.match(await lineOnCard(), /trusted as Acme/);
  });

  test("what is removed is believed no longer, and the trusted root goes with its last identity", async () => {
    await home.must(["caller", "trust", "Other", "--subject", "o@example.com", "--issuer", ISSUER]);
    assert.equal(
      codeOf(await trust("Other", "--subject", "p@example.com", "--issuer", ISSUER)),
      "caller_signer_invalid",
    );
    assert.equal(codeOf(await trust("Twice", "--subject", SUBJECT, "--issuer", ISSUER)), "caller_signer_invalid");
    await home.must(["caller", "remove", "Acme"]);
    assert.match(await lineOnCard(), /^Unsigned.*dev@example\.com, whom policy does not name/);
    await home.must(["caller", "remove", "Other"]);
    assert.deepEqual(await list(), []);
    assert.match(await lineOnCard(), NOBODYS);
    assert.equal(codeOf(await trust("Acme", "--subject", SUBJECT, "--issuer", ISSUER)), "caller_signer_invalid");
    assert.equal(codeOf(await home.operator(["caller", "remove", "Acme"])), "not_found");
  });
});
