import assert from "node:assert/strict";
import {
  copyFileSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import {
  asUser,
  codeOf,
  demoPack,
  type Gateway,
  GW,
  Home,
  type Members,
  makeFolder,
  openPlane,
  PASSPHRASE,
  start,
  until,
} from "./support/home.ts";
import { noTmux, openPane } from "./support/pane.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

const PIN = "2468";

describe("gw login: the keys stay with a program of the operator for a while", asUser, () => {
  let home: Home;
  let provider: TestProvider;
  let gateway: Gateway;

  before(async () => {
    provider = await startProvider();
    home = await new Home(makeFolder()).init();
    await home.addCredential("demo-token", provider.origin);
    await home.trustPack("demo", demoPack(provider.origin));
    gateway = await home.up();
    await home.approvals(0);
  });

  after(async () => {
    await home?.run(["logout"]);
    await gateway?.end();
    await provider?.close();
  });

  const socketOf = (): string => {
    const folder = join(`${home.folder}-state`, "gw", "run");
    const [name = ""] = readdirSync(folder).filter((one) => one.endsWith(".sock"));
    return join(folder, name);
  };

  /** The programs that keep keys behind this socket, or once did. */
  const keepersAt = (path: string): readonly string[] =>
    readdirSync("/proc").filter((one) => {
      if (!/^\d+$/.test(one)) return false;
      try {
        return readFileSync(`/proc/${one}/cmdline`, "utf8").split("\0").includes(path);
      } catch {
        return false;
      }
    });

  test("reading commands ask nothing, and what changes something still asks", async () => {
    const asked = await home.run(["activity"]);
    assert.deepEqual([asked.code, codeOf(asked)], [1, "terminal_needed"]);
    assert.match(asked.err, /Passphrase of ada/);
    const login = await home.must(["login", "--for", "10m"]);
    assert.match(login.out, /^ada is logged in for 10 minutes\./);
    for (const words of ["activity", "sessions", "approvals", "operation list", "audit export", "activity --json"]) {
      const done = await home.run(words.split(" "));
      assert.equal(done.code, 0, `gw ${words}: ${done.err}`);
    }
    for (const words of [
      "pack trust demo",
      "lock",
      "revoke ses_00000000000000000000000000",
      "pack remove demo",
      "operator pin",
    ]) {
      const done = await home.run(words.split(" "));
      assert.deepEqual([done.code, codeOf(done)], [1, "terminal_needed"], `gw ${words}: ${done.out}${done.err}`);
    }
  });

  const curses =
    existsSync("/usr/bin/pinentry-curses") && realpathSync("/usr/bin/pinentry").endsWith("pinentry-curses");
  test(
    "gw passphrase-prompt asks in a real pinentry, and logs in",
    noTmux === null && curses ? {} : { skip: noTmux ?? "pinentry here is not pinentry-curses" },
    async () => {
      await home.run(["logout"]);
      const command = `${GW} passphrase-prompt --home ${home.folder} --for 10m; echo "EXIT $?"; cat`;
      const pane = openPane(makeFolder(), command, home.environment(), { columns: 80, rows: 24 });
      try {
        await pane.shows(/Passphrase of ada/);
        pane.write(PASSPHRASE);
        pane.type("Enter");
        await pane.shows("EXIT 0");
        assert.match(pane.text(), /ada is logged in for 10 minutes/);
      } finally {
        pane.close();
      }
      assert.equal((await home.run(["activity"])).code, 0, "reading asks nothing");
    },
  );

  test("its program is closed to everybody else: socket, folder and memory", async () => {
    const path = socketOf();
    assert.equal(lstatSync(path).mode & 0o777, 0o600);
    assert.equal(lstatSync(dirname(path)).mode & 0o777, 0o700);
    const [pid] = keepersAt(path);
    assert.ok(pid !== undefined);
    for (const name of ["mem", "environ", "maps"]) {
      assert.throws(() => readFileSync(`/proc/${pid}/${name}`), { code: "EACCES" }, name);
    }
  });

  test("another program of the same user is hung up on", async () => {
    const folder = makeFolder();
    const stranger = join(folder, "node");
    copyFileSync(process.execPath, stranger);
    const script = join(folder, "ask.mjs");
    writeFileSync(
      script,
      `import { request } from "node:http";
const [path, from] = process.argv.slice(2);
request({ socketPath: path, path: "/v1/login" }, (r) => r.on("data", (d) => console.log(from + d)))
  .on("error", (e) => console.log(from + e.code)).end();`,
    );
    const ask = async (program: string) => (await start([program, script, socketOf(), "said "]).exited).out;
    assert.match(await ask(process.execPath), /^said \{"operator":"ada"/, "the same program is heard");
    assert.match(await ask(stranger), /^said (ECONNRESET|EPIPE)/);
  });

  test("its login at the gateway may look and do nothing", async () => {
    const keeper = openPlane(socketOf());
    const plane = openPlane(home.operatorSocket);
    try {
      const { body: challenged } = await plane.ask("POST", "/v1/login/challenge");
      const signed = await keeper.ask("POST", "/v1/reading-login", challenged);
      assert.equal(signed.headers["keep-alive"], undefined, "it hangs up on nobody who takes long to type a PIN");
      const { body } = await plane.ask("POST", "/v1/login", signed.body);
      const headers = { authorization: `Bearer ${String(body["token"])}` };
      for (const path of ["/v1/approvals", "/v1/sessions", "/v1/custody/operations"]) {
        assert.equal((await plane.ask("GET", path, undefined, headers)).status, 200, path);
      }
      const published = (await plane.ask("GET", "/v1/openapi.json")).body;
      const changing = Object.entries(published["paths"] as Record<string, Members>).filter(
        ([path, methods]) => "post" in methods && path.startsWith("/v1/") && !path.includes("{"),
      );
      const answers = await Promise.all(
        ["/v1/reload", "/v1/resume", "/v1/log/attestation/offer"].map((path) =>
          plane.ask("POST", path, undefined, headers),
        ),
      );
      assert.ok(changing.length > 3);
      for (const answer of answers) assert.deepEqual([answer.status, answer.body["code"]], [403, "login_reads_only"]);
      const locked = await plane.ask("POST", "/v1/lock", { reason: "x" }, headers);
      assert.deepEqual([locked.status, locked.body["code"]], [403, "login_reads_only"]);
    } finally {
      keeper.close();
      plane.close();
    }
  });

  test("a new login takes the place of the old one, and logout ends it", async () => {
    await home.must(["login", "--for", "2m"]);
    assert.match((await home.run(["logout"])).out, /Logged out/);
    assert.match((await home.run(["logout"])).out, /Nobody was logged in/);
    assert.equal(codeOf(await home.run(["activity"])), "terminal_needed");
    await until("nothing is left of it", () => readdirSync(join(`${home.folder}-state`, "gw", "run")).length === 0);
  });

  test("a login that nobody can reach any more ends, and takes no later one away", async () => {
    await home.must(["login", "--for", "10m"]);
    const path = socketOf();
    const [first = ""] = keepersAt(path);
    // As by a login session's end, which empties the folder, and by two logins at the same moment.
    rmSync(path);
    await home.must(["login", "--for", "10m"]);
    await until("the first has ended", () => !keepersAt(path).includes(first));
    assert.equal(keepersAt(path).length, 1);
    assert.equal((await home.run(["activity"])).code, 0, "reading asks nothing");
    rmSync(path);
    await until("the second has ended", () => keepersAt(path).length === 0);
  });

  test("when its time is over it is gone by itself", async () => {
    await home.must(["login", "--for", "1s"]);
    await until("it ended", async () => codeOf(await home.run(["activity"])) === "terminal_needed");
  });

  test(
    "with several operators the name is asked before the passphrase",
    noTmux === null ? {} : { skip: noTmux },
    async () => {
      const second = join(makeFolder(), "bob");
      writeFileSync(second, "another horse with a longer battery\n", { mode: 0o600 });
      await home.must(["operator", "add", "bob", "--new-passphrase-file", second]);
      const pane = openPane(makeFolder(), `${GW} login --home ${home.folder}; echo DONE; cat`, home.environment());
      try {
        await pane.shows("Which operator are you (ada, bob)?");
        pane.write("bob");
        pane.type("Enter");
        await pane.shows("Passphrase of bob:");
        pane.write("another horse with a longer battery");
        pane.type("Enter");
        await pane.shows("bob is logged in for 15 minutes");
        assert.equal((await home.run(["approvals"])).code, 0);
        assert.equal(codeOf(await home.run(["activity", "--operator", "ada"])), "terminal_needed");
      } finally {
        pane.close();
      }
      await home.must(["operator", "remove", "bob", "--operator", "ada"]);
      assert.equal(
        codeOf(await home.run(["activity"])),
        "terminal_needed",
        "whoever is removed reads nothing any more",
      );
      await home.must(["unlock"]);
    },
  );

  test("a decision asks the PIN, and locking ends the login", noTmux === null ? {} : { skip: noTmux }, async () => {
    const set = openPane(
      makeFolder(),
      `${GW} operator pin --passphrase-file ${home.passphraseFile} --home ${home.folder}; echo DONE; cat`,
      home.environment(),
    );
    await set.shows("New PIN:");
    set.write(PIN);
    set.type("Enter");
    await set.shows("Once more:");
    set.write(PIN);
    set.type("Enter");
    await set.shows("DONE");
    set.close();
    await home.must(["login"]);
    const calling = home.start(["call", "demo.thing.get", "id=1"]);
    const id = await until("it is asked", async () => {
      const { out } = await home.run(["approvals", "--json"]);
      return (JSON.parse(out) as readonly Members[])[0]?.["approval_id"];
    });
    const late = openPane(makeFolder(), `${GW} approve --home ${home.folder}; echo "EXIT $?"; cat`, home.environment());
    try {
      await late.shows("PIN of ada:");
      assert.equal((await home.run(["logout"])).code, 0);
      late.write(PIN);
      late.type("Enter");
      await late.shows("EXIT 1");
      assert.match(late.text(), /login_over: Your login ended while this command waited/);
    } finally {
      late.close();
    }
    await home.must(["login"]);
    const pane = openPane(
      makeFolder(),
      `${GW} approve ${String(id)} --home ${home.folder}; ${GW} lock --home ${home.folder}; echo DONE; cat`,
      home.environment(),
    );
    try {
      await pane.shows("PIN of ada:");
      pane.write(PIN);
      pane.type("Enter");
      await pane.shows(/demo\.thing\.get[\s\S]*Sign this\?/);
      pane.write("y");
      pane.type("Enter");
      assert.equal((await calling.exited).code, 0);
      await pane.shows(/approved\.\s+PIN of ada:/);
      pane.write(PIN);
      pane.type("Enter");
      await pane.shows("DONE");
      assert.match(pane.text(), /Locked: every session/);
    } finally {
      pane.close();
    }
    assert.equal(codeOf(await home.run(["activity"])), "terminal_needed");
  });
});
