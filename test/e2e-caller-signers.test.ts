import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { createSigstoreAuthority } from "../src/adapters/platform/linux/image/testing/sigstore-authority.ts";
import {
  type AgentProcess,
  asUser,
  codeOf,
  demoPack,
  type Gateway,
  Home,
  type Members,
  makeFolder,
  startAgent,
} from "./support/home.ts";
import { idIn } from "./support/reply.ts";

const SUBJECT = "dev@example.com";
const ISSUER = "https://id.example.com";

/** Nobody vouches for it by a signature; it is the very program that the gateway runs on. */
const OWN_NODE = /^This gateway's own Node, running a script/;

describe("who signed a caller's program, from the operator's trust to the card", asUser, () => {
  const folder = makeFolder();
  const authority = createSigstoreAuthority();
  const image = readFileSync(process.execPath);
  const imageDigest = `sha256:${createHash("sha256").update(image).digest("hex")}`;
  const agents: AgentProcess[] = [];
  let home: Home;
  let gateway: Gateway;

  before(async () => {
    home = await new Home(folder).init();
    await home.addCredential("demo-token", "http://127.0.0.1:9");
    await home.trustPack("demo", demoPack("http://127.0.0.1:9"));
    gateway = await home.up();
  });

  after(async () => {
    for (const agent of agents) agent.close();
    await gateway?.end();
  });

  const given = (name: string, content: unknown): string => {
    const path = join(folder, name);
    writeFileSync(path, JSON.stringify(content));
    return path;
  };
  const trust = (...args: readonly string[]) => home.operator(["caller", "trust", ...args]);
  const list = async () => JSON.parse((await home.run(["caller", "list", "--json"])).out) as readonly Members[];

  /** A fresh process asks for a run; what its card says first, and its evidence. */
  async function seenOnCard(): Promise<{ readonly line: string; readonly caller: Members }> {
    const agent = await startAgent(home);
    agents.push(agent);
    const asked = await agent.ask("POST", "/v1/runs", { purpose: `see ${agents.length}`, actions: ["demo.thing.get"] });
    const id = idIn(asked, "approval_id");
    const approvals = await home.approvals();
    const approval = approvals.find(({ approval_id }) => approval_id === id);
    assert.ok(approval !== undefined, asked.text);
    // A denied question cools down for the same program, so each of these is approved, and its process ends.
    await home.approve(id);
    agent.close();
    const card = approval["card"] as Members;
    return { line: String(card["authority"]), caller: card["caller"] as Members };
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
    assert.match((await seenOnCard()).line, OWN_NODE);
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
    assert.match((await seenOnCard()).line, OWN_NODE);
    const filed = await home.run([
      "caller",
      "bundle",
      process.execPath,
      given("b.json", authority.signFile(image)),
      "--json",
    ]);
    assert.equal(filed.code, 0, filed.err);
    assert.deepEqual((JSON.parse(filed.out) as Members)["image_digest"], imageDigest);
    const { line, caller } = await seenOnCard();
    assert.match(
      line,
      /^Image signed \(Sigstore\) by dev@example\.com, vouched for by https:\/\/id\.example\.com, trusted as Acme, running/,
    );
    assert.deepEqual([caller["validity"], caller["signing_identifier"]], ["valid", SUBJECT]);
  });

  test("a bundle of another program or another authority is not filed", async () => {
    // A small one: each is read whole.
    const program = "/bin/true";
    const own = readFileSync(program);
    for (const bundle of [
      authority.signFile(Buffer.from("another")),
      createSigstoreAuthority().signFile(own),
      {},
      [],
    ]) {
      const done = await home.run(["caller", "bundle", program, given("b.json", bundle)]);
      assert.deepEqual([done.code, codeOf(done)], [1, "caller_signer_invalid"]);
    }
    assert.equal((await home.run(["caller", "bundle", program, given("b.json", authority.signFile(own))])).code, 0);
    assert.match((await seenOnCard()).line, /trusted as Acme/);
  });

  test("a signer whom policy does not name leaves the program unsigned, and the card says whose signature it is", async () => {
    const bundle = given("b.json", authority.signFile(image, { subject: "mallory@example.com" }));
    const filed = await home.run(["caller", "bundle", process.execPath, bundle]);
    assert.equal(filed.code, 0, filed.err);
    assert.match((await seenOnCard()).line, /^Unsigned.*mallory@example\.com, whom policy does not name/);
    await home.run(["caller", "bundle", process.execPath, given("b.json", authority.signFile(image))]);
    assert.match((await seenOnCard()).line, /trusted as Acme/);
  });

  test("a trusted root that was changed on disk vouches for nobody", async () => {
    const place = join(home.folder, "sigstore");
    const name = readdirSync(place).find((file) => file.endsWith(".trusted-root.json")) ?? "";
    const before = readFileSync(join(place, name));
    writeFileSync(join(place, name), JSON.stringify(createSigstoreAuthority().trustedRoot));
    assert.match((await seenOnCard()).line, /^INVALID Sigstore signature: the trusted root is not the one/);
    rmSync(join(place, name));
    assert.match((await seenOnCard()).line, /^INVALID Sigstore signature/);
    writeFileSync(join(place, name), before);
    assert.match((await seenOnCard()).line, /trusted as Acme/);
  });

  test("what is removed is believed no longer, and the trusted root goes with its last identity", async () => {
    await home.must(["caller", "trust", "Other", "--subject", "o@example.com", "--issuer", ISSUER]);
    assert.equal(
      codeOf(await trust("Other", "--subject", "p@example.com", "--issuer", ISSUER)),
      "caller_signer_invalid",
    );
    assert.equal(codeOf(await trust("Twice", "--subject", SUBJECT, "--issuer", ISSUER)), "caller_signer_invalid");
    await home.must(["caller", "remove", "Acme"]);
    assert.match((await seenOnCard()).line, /^Unsigned.*dev@example\.com, whom policy does not name/);
    await home.must(["caller", "remove", "Other"]);
    assert.deepEqual(await list(), []);
    assert.match((await seenOnCard()).line, OWN_NODE);
    assert.equal(codeOf(await trust("Acme", "--subject", SUBJECT, "--issuer", ISSUER)), "caller_signer_invalid");
    assert.equal(codeOf(await home.operator(["caller", "remove", "Acme"])), "not_found");
  });
});
