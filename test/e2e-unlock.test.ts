import assert from "node:assert/strict";
import { createPublicKey } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { VerifyReport } from "../src/audit/verify/report.ts";
import { attest, intentEvent, makeKeys, openTestLog } from "./audit-kit.ts";
import {
  asUser,
  codeOf,
  type Gateway,
  GW,
  Home,
  makeFolder,
  openPlane,
  PASSPHRASE,
  type Plane,
  within,
} from "./support/home.ts";
import { answerChallenge, operatorOf } from "./support/operator-key.ts";
import { noTmux, openPane } from "./support/pane.ts";

describe("operators who unlock at one moment", asUser, () => {
  let home: Home;
  let gateway: Gateway;
  let plane: Plane;
  let keys: { readonly right: string; readonly wrong: string };
  let authorization: string;

  before(async () => {
    home = await new Home(makeFolder()).init();
    const bob = join(dirname(home.folder), "bob");
    writeFileSync(bob, "bob has a passphrase of his own\n", { mode: 0o600 });
    await home.must(["operator", "add", "bob", "--new-passphrase-file", bob]);
    gateway = await home.up(["--locked"]);
    plane = openPlane(home.operatorSocket);
    const { operator } = await operatorOf(home, "ada");
    keys = {
      right: operator.serviceKey.use((bytes) => bytes.toString("base64")),
      wrong: Buffer.alloc(operator.serviceKey.byteLength, 7).toString("base64"),
    };
    const { body } = await plane.ask("POST", "/v1/login/challenge");
    const login = await answerChallenge(plane, operator, String(body["challenge"]));
    authorization = `Bearer ${login.body["token"]}`;
  });

  after(async () => {
    plane?.close();
    await gateway?.end();
  });

  const send = (path: string, body: { readonly [name: string]: string }) =>
    plane.ask("POST", path, body, { authorization });

  /** Each unlock opened the state and the credentials, each lock closed them: in whichever order they came, they take turns. */
  async function turns(): Promise<readonly string[]> {
    const log = ["--log", join(home.folder, "audit"), "--operator", "ada"];
    const { out } = await home.must(["audit", "export", ...log]);
    const found = [...out.matchAll(/"event_type":"gateway_((?:un)?locked)"/g)].map(([, word = ""]) => word);
    for (const [at, word] of found.entries()) assert.equal(word, at % 2 === 0 ? "unlocked" : "locked", found.join(" "));
    return found;
  }

  test("one opens it, the others find it open, and a wrong key or a lock among them leaves nothing half open", async () => {
    const mixed = [keys.right, keys.wrong, keys.right, keys.wrong, keys.right];
    const replies = await Promise.all(mixed.map((key) => send("/v1/unlock", { service_key: key })));
    for (const [at, { status, body }] of replies.entries()) {
      if (mixed[at] === keys.right) assert.deepEqual([status, body["locked"]], [200, false]);
      // Where there is nothing to open any more, no key is looked at.
      else assert.ok(status === 200 || body["code"] === "service_key_wrong", JSON.stringify(body));
    }
    const [locked, again] = await Promise.all([
      send("/v1/lock", { reason: "lunch" }),
      send("/v1/unlock", { service_key: keys.right }),
    ]);
    assert.deepEqual([locked.body["locked"], again.body["locked"]], [true, false]);
    await send("/v1/lock", { reason: "lunch" });
    const [, opened] = await Promise.all([
      send("/v1/unlock", { service_key: keys.wrong }),
      send("/v1/unlock", { service_key: keys.right }),
    ]);
    assert.deepEqual([opened.body["locked"], (await home.status())["locked"]], [false, false]);
    assert.equal((await turns()).at(-1), "unlocked");
  });

  test("gw unlock of two operators, run together: both are told that it is open, and it was opened once", async () => {
    await send("/v1/lock", { reason: "lunch" });
    const before = (await turns()).length;
    const both = ["ada", "bob"].map((operator) =>
      home.start([
        ...["unlock", "--first", "--operator", operator, "--passphrase-file"],
        operator === "ada" ? home.passphraseFile : join(dirname(home.folder), "bob"),
      ]),
    );
    for (const { exited } of both) {
      const { code, out, err } = await within(exited, 120_000, "gw unlock");
      assert.deepEqual([code, out.trim()], [0, "Unlocked."], err);
    }
    assert.equal((await home.status())["locked"], false);
    assert.equal((await turns()).length, before + 1);
    assert.equal((await home.verify()).code, 0);
  });
});

describe("what a gateway wrote that ended before anybody signed in", asUser, () => {
  let home: Home;
  let gateway: Gateway;

  before(async () => {
    home = await new Home(makeFolder()).init();
    for (const _ of [1, 2]) await (await home.up(["--locked"])).end();
    gateway = await home.up();
  });

  after(() => gateway?.end());

  const verdict = async (): Promise<readonly [number | null, readonly string[], readonly string[]]> => {
    const [ada] = JSON.parse((await home.run(["operator", "list", "--json"])).out) as { readonly key: string }[];
    const { code, out } = await home.verify(["--operator", ada?.key ?? ""]);
    const { breaches, notices } = JSON.parse(out) as VerifyReport;
    return [code, breaches.map((one) => one.code), notices.map((one) => one.code).filter((one) => /vouch/.test(one))];
  };

  test("no later sign-in attests, and who is not asked has to name it", async () => {
    await home.must(["unlock"]);
    assert.deepEqual(await verdict(), [1, ["unattested", "unattested"], []]);
    for (const extra of [[], ["--through", "1"]]) {
      const refused = await home.operator(["audit", "vouch", ...extra]);
      assert.deepEqual([refused.code, codeOf(refused)], [1, "value_not_allowed"], refused.err);
    }
    assert.deepEqual(await verdict(), [1, ["unattested", "unattested"], []]);
  });

  test("an operator looks at and vouches for, once", async () => {
    const [, through = ""] = /--through (\d+)/.exec((await home.operator(["audit", "vouch"])).err) ?? [];
    const { parts } = JSON.parse((await home.must(["audit", "vouch", "--through", through, "--json"])).out) as {
      readonly parts: readonly { readonly last_frame: number; readonly events: Readonly<Record<string, number>> }[];
    };
    assert.deepEqual([parts.length, parts.at(-1)?.last_frame], [2, Number(through)]);
    for (const { events } of parts) assert.equal(events["gateway_started"], 1, JSON.stringify(events));
    assert.deepEqual(await verdict(), [0, [], ["vouched_later", "vouched_later"]]);
    const again = await home.must(["audit", "vouch", "--json"]);
    assert.deepEqual(JSON.parse(again.out), { looked_from: 0, parts: [], others: [] });
  });

  test(
    "a person is asked whether the starts were theirs, and y alone signs",
    noTmux === null ? {} : { skip: noTmux },
    async () => {
      const twin = await new Home(makeFolder()).init();
      await (await twin.up(["--locked"])).end();
      const running = await twin.up();
      try {
        for (const [answer, exit] of [
          ["", 1],
          ["yes", 1],
          ["y", 0],
        ] as const) {
          const command = `${GW} audit vouch --home ${twin.folder}; echo "EXIT $?"; cat`;
          const pane = openPane(makeFolder(), command, twin.environment());
          try {
            await pane.shows("Passphrase");
            pane.write(PASSPHRASE);
            pane.type("Enter");
            await pane.shows("Were these starts yours?");
            assert.match(pane.text().replaceAll(/\s+/g, " "), /Frames 0 to \d+, .*gateway_started 1/);
            if (answer !== "") pane.write(answer);
            pane.type("Enter");
            await pane.shows(`EXIT ${exit}`);
            assert.equal((await twin.verify()).code, exit, answer);
          } finally {
            pane.close();
          }
        }
      } finally {
        await running.end();
      }
    },
  );

  test(
    "what was changed while the passphrase was typed is said, and not that all is well",
    noTmux === null ? {} : { skip: noTmux },
    async () => {
      const twin = await new Home(makeFolder()).init();
      await (await twin.up(["--locked"])).end();
      const running = await twin.up();
      const path = join(twin.folder, "audit", "0000000001.gwlog");
      const pane = openPane(
        makeFolder(),
        `${GW} audit vouch --home ${twin.folder}; echo "EXIT $?"; cat`,
        twin.environment(),
      );
      try {
        await pane.shows("Passphrase");
        const bytes = readFileSync(path);
        writeFileSync(path, bytes.fill(bytes.readUInt8(200) ^ 1, 200, 201));
        pane.write(PASSPHRASE);
        pane.type("Enter");
        await pane.shows(/EXIT \d/);
        const said = pane.text().replaceAll(/\s+/g, " ");
        assert.match(said, /Nothing was signed: the log is vouched for only while it holds\..* EXIT 1/);
        assert.doesNotMatch(said, /nothing to sign/);
      } finally {
        pane.close();
        await running.end();
      }
    },
  );

  test("what somebody put into the log does nothing to the terminal on which it is looked at", async () => {
    await gateway.end();
    const { operator } = await operatorOf(home);
    const recipients = [createPublicKey(operator.readingKey)];
    const vault = { vaultGeneration: 1, vaultHash: "00".repeat(32) };
    const forged = await openTestLog(join(home.folder, "audit"), { keys: makeKeys(), recipients, vault });
    await forged.append([{ ...intentEvent("forged"), occurred_at: "2026-01-01\u001b[1A\u001b[2K\u202e" }]);
    await forged.close();
    gateway = await home.up();
    const last = /--through (\d+)/.exec((await home.operator(["audit", "vouch"])).err)?.[1] ?? "";
    const { out } = await home.must(["audit", "vouch", "--through", last]);
    assert.match(out, /2026-01-01\\u\{1b\}\[1A/);
    assert.ok(!out.includes("\u001b") && !out.includes("\u202e"), out);
  });
});

describe("what a signature for earlier parts covers", asUser, () => {
  let home: Home;
  let gateway: Gateway;
  let lives: readonly (readonly [number, number])[];

  /** A life of the gateway, of which this operator is the one who signed in. */
  async function live(operator: string | null): Promise<void> {
    const running = await home.up(["--locked"]);
    if (operator !== null) {
      const words = ["unlock", "--first", "--operator", operator, "--passphrase-file", pathOf(operator)];
      const { code, err } = await within(home.start(words).exited, 120_000, "gw unlock");
      assert.equal(code, 0, err);
    }
    await running.end();
  }
  const pathOf = (operator: string): string =>
    operator === "ada" ? home.passphraseFile : `${home.folder}-${operator}`;

  before(async () => {
    home = await new Home(makeFolder()).init();
    for (const name of ["bob", "carol"]) {
      writeFileSync(pathOf(name), `${name} has a passphrase of their own\n`, { mode: 0o600 });
      await home.must(["operator", "add", name, "--operator", "ada", "--new-passphrase-file", pathOf(name)]);
    }
    for (const operator of ["bob", "carol", null]) await live(operator);
    await home.must(["operator", "remove", "bob", "--operator", "ada"]);
    const vault = { vaultGeneration: 1, vaultHash: "00".repeat(32) };
    const sealed = await openTestLog(join(home.folder, "audit"), { keys: makeKeys(), vault });
    await attest(sealed, makeKeys(), "ada");
    await sealed.append([intentEvent("hidden")]);
    await sealed.close();
    gateway = await home.up(["--operator", "ada"]);
    const { eras } = JSON.parse((await home.verify()).out) as VerifyReport;
    lives = eras.map(({ firstFrame, lastFrame }) => [firstFrame, lastFrame]);
  });

  after(() => gateway?.end());

  test("is shown before it is given: also what only somebody signed for who is no operator", async () => {
    const vouch = ["audit", "vouch", "--operator", "ada"];
    const refused = await home.operator(vouch);
    const through = /--through (\d+)/.exec(refused.err)?.[1] ?? assert.fail(refused.err);
    const { out } = await home.must([...vouch, "--through", through]);
    const shown = [...out.matchAll(/^Frames (\d+) to (\d+), (.*): /gm)];
    const signers = shown.map(([, , , how = ""]) => /signed by (?:(\w+), who is no|key \w+, of no) operator/.exec(how));
    assert.deepEqual(
      signers.map((one) => one && (one[1] ?? "a stranger")),
      ["bob", null, "a stranger"],
      out,
    );
    assert.deepEqual(shown.at(-1)?.slice(1, 3).map(Number), lives.at(-2), "the last one before what is written now");
    assert.match(out, /^NOT ALL OF THAT PART IS COUNTED/m);
    assert.match(out, /^For who trusts your key alone, you vouch for what carol attested too: 1 part, between frames/m);
    const [ada] = JSON.parse((await home.run(["operator", "list", "--json"])).out) as { readonly key: string }[];
    assert.equal((await home.verify(["--operator", ada?.key ?? ""])).code, 0);
  });
});
