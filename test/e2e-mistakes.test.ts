import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { freePort } from "./support/console.ts";
import { asUser, codeOf, demoPack, type Gateway, GW, Home, type Members, makeFolder } from "./support/home.ts";
import { noTmux, openPane } from "./support/pane.ts";

describe("what a person mistypes", asUser, () => {
  let home: Home;
  let gateway: Gateway | undefined;

  before(async () => {
    home = await new Home(makeFolder()).init();
  });
  after(() => gateway?.end());

  test("is refused before a secret is asked for, where no secret is needed to see it", async () => {
    const add = ["credential", "add"];
    const bearer = ["--kind", "bearer", "--origin"];
    const grant = ["grant", "add", "nightly", "--caller", "uid:1040", "--until", "2027-03-31"];
    const nowhere = join(makeFolder(), "nowhere");
    const person = ["--client-id", "x", "--token-endpoint", "https://a.example/t", "--device-endpoint"];
    const line = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHrVnAMcQ4mRXtZ0CU7HdF3wcVsoQRkb2RiX1yTgMFUR";
    const tokens = join(makeFolder(), ".env");
    writeFileSync(tokens, "HELD=one-two-three\nOTHER_TOKEN=four-five-six\n", { mode: 0o600 });
    const found = ["credential", "import", "env", tokens, "--yes", "--bind"];
    const ticket = ["--ref", "jira:OPS-17", "--operation", "acme.thing.get", "--target", "https://api.acme.example/"];
    const linked = join(makeFolder(), "home");
    symlinkSync(home.folder, linked);
    const mistakes: readonly (readonly [code: string, args: readonly string[]])[] = [
      ["credential_invalid", [...add, "no label", ...bearer, "https://api.acme.example"]],
      ["credential_invalid", [...add, "acme", ...bearer, "api.acme.example"]],
      ["credential_invalid", [...add, "acme", "--kind", "header", "--origin", "https://api.acme.example"]],
      ["credential_invalid", ["credential", "bind", "held"]],
      ["credential_invalid", [...add, "acme", ...bearer, "https://api.acme.example", "--secret-fd", "999"]],
      ["credential_invalid", ["credential", "rotate", "held", "--secret-fd", "999"]],
      ["credential_invalid", [...add, "acme", ...bearer, "https://api.acme.example", "--username", "ada"]],
      ["credential_invalid", ["credential", "rotate", "held", "--username", "ada"]],
      ["credential_unknown", [...add, "acme", ...bearer, "https://api.acme.example", "--with-certificate", "none"]],
      ["secret_missing", [...add, "acme", "--kind", "ssh", "--host-key", line, "--key-passphrase-file", nowhere]],
      [
        "credential_invalid",
        ["credential", "login", "acme", "--origin", "acme", ...person, "https://a.example/d", "--device"],
      ],
      ["credential_invalid", [...found, "other-token=acme", "--only", "other-token"]],
      ["credential_exists", [...found, "held=https://api.acme.example", "--only", "held"]],
      ["credential_unknown", ["credential", "test", "nothing"]],
      ["credential_unknown", ["credential", "adopt", "nothing", "acme", "--origin", "https://api.acme.example"]],
      ["file_unusable", ["unlock", "--write-key-file", join(makeFolder(), "nowhere", "key")]],
      ["operator_name_invalid", ["operator", "add", "Bob B."]],
      ["operator_exists", ["operator", "add", "ada"]],
      ["secret_missing", ["operator", "add", "bob", "--new-passphrase-file", nowhere]],
      ["secret_missing", ["passphrase", "--new-passphrase-file", nowhere]],
      ["decision_rule_unfit", ["policy", "approvers", "acme.thing.get", "2"]],
      ["decision_rule_unfit", ["policy", "decide-with", "passkey", "--all"]],
      ["passkey_unknown", ["passkey", "remove", "nobody"]],
      ["not_found", ["grant", "remove", "nothing"]],
      ["not_found", ["caller", "remove", "nobody"]],
      ["not_found", ["webhook", "remove", "nothing"]],
      ["pack_unknown", ["pack", "remove", "nothing"]],
      ["not_found", ["pack", "place", "nothing"]],
      ["not_found", ["ticket", "issuer", "remove", "nobody"]],
      ["not_found", ["ticket", "service", "remove", "nothing"]],
      ["ticket_issuer_invalid", ["ticket", "issuer", "add", "ada", "--key", "A".repeat(43)]],
      ["operator_unknown", ["operator", "remove", "nobody"]],
      ["operator_last", ["operator", "remove", "ada"]],
      ["grant_invalid", [...grant, "--actions", "acme.nothing.here"]],
      ["hub_not_joined", ["hub", "leave"]],
      ["hub_not_joined", ["hub", "set", "--grace-s", "60"]],
      ["hub_not_joined", ["hub", "limit", "deploys", "--remove"]],
      ["value_not_allowed", ["credential", "lend", "held"]],
      ["value_not_allowed", ["login", "--for", "13h"]],
      ["file_not_written", ["backup", home.passphraseFile]],
      ["not_found", ["approve", "apr_1"]],
      ["not_found", ["revoke", "ses_1"]],
      ["ticket_invalid", ["approve", "apr_01m7gwx0168jedv0mkrybqr3k2", "--emergency"]],
      ["ticket_invalid", ["approve", "apr_01m7gwx0168jedv0mkrybqr3k2", "--ticket", "OPS-17"]],
      ["ticket_invalid", ["approve", "apr_01m7gwx0168jedv0mkrybqr3k2", "--ticket-state", "open"]],
      ["not_found", ["ticket", "show", "run_1"]],
      ["not_found", ["ticket", "issue", "run_1", ...ticket]],
      ["not_found", ["ticket", "attach", "run_1", tokens]],
      ["file_unreadable", ["upgrade", "decide", "--report", nowhere, "d-12345678", "--accept", "--reviews", nowhere]],
      [
        "file_unreadable",
        ["upgrade", "probe", "--corpus", nowhere, "--old", "https://a.example", "--new", "https://b.example"],
      ],
      ["not_found", ["audit", "checkpoint"]],
      ["operator_unknown", ["audit", "share", "nobody"]],
      ["not_found", ["audit", "export", "--log", makeFolder()]],
      ["archive_refused", ["audit", "archive", join(home.folder, "audit", "old")]],
      ["file_not_written", ["backup", join(makeFolder(), "nowhere", "backup")]],
      ["file_not_written", ["backup", join(linked, "packs", "backup")]],
      // Here nobody could be asked: what is right goes that far.
      ["terminal_needed", [...add, "acme", ...bearer, "https://api.acme.example"]],
      ["terminal_needed", ["operator", "add", "bob"]],
    ];
    await home.addCredential("held", "https://api.acme.example");
    const vault = (): string => readFileSync(join(home.folder, "vault.json"), "utf8");
    const unchanged = vault();
    for (const [code, args] of mistakes) {
      const done = await home.run(args);
      assert.deepEqual([done.code, codeOf(done)], [args.includes("--for") ? 2 : 1, code], args.join(" "));
    }
    assert.equal(vault(), unchanged);
    const session = "ses_01m7gwx0168jedv0mkrybqr3k2";
    // Whoever works here may have a console of their own open.
    const console = `console --port ${await freePort()}`;
    for (const words of ["approvals", console, "unlock", "operation list", "lock", `revoke ${session}`]) {
      const done = await home.run(words.split(" "));
      assert.deepEqual([done.code, codeOf(done)], [3, "gateway_unreachable"], words);
    }
    const hub = ["--hub", "postgres://ada@db.example/gw"];
    assert.equal(codeOf(await home.run(["approve", ...hub])), "not_found", "with --hub a card is named");
    const homeless = new Home(makeFolder());
    for (const words of ["approvals", "console", "status", "activity"]) {
      const done = await homeless.run([words, ...hub]);
      assert.equal(codeOf(done), "vault_missing", `${words}, before the password of the hub`);
    }
  });

  test("a hub that is not there, or what no gateway of it could have, is told before the passphrase", async () => {
    const hub = ["--hub", "postgres://ada@127.0.0.1:1/gw", "--hub-password-file", home.passphraseFile];
    for (const words of [
      "approvals",
      `console --port ${await freePort()}`,
      "watch --json",
      "activity",
      "operation list",
      "grant list",
      "unlock",
    ]) {
      const done = await home.run([...words.split(" "), ...hub]);
      assert.deepEqual([done.code, codeOf(done)], [3, "hub_unreachable"], words);
    }
    const settle = ["operation", "settle", "op_1", "--reason", "seen", "--happened"];
    for (const [code, args] of [
      ["not_found", ["revoke", "ses_1"]],
      ["not_found", ["operation", "show", "op_1"]],
      ["not_found", ["operation", "reconcile", "op_1"]],
      ["not_found", [...settle, "yes"]],
      ["schema_violation", [...settle, "perhaps"]],
      [
        "grant_invalid",
        ["grant", "add", "nightly", "--caller", "everybody", "--until", "2027-03-31", "--actions", "a.b.c"],
      ],
    ] as const)
      assert.equal(codeOf(await home.run([...args, ...hub])), code, args.join(" "));
  });

  test("names what to type instead: a setting with a command of its own, a journal before any gateway ran", async () => {
    for (const [setting, instead] of [
      ["two_people", "gw policy approvers"],
      ["decide_with", "gw policy decide-with"],
    ] as const) {
      const done = await home.operator(["policy", "set", setting, "x"]);
      assert.equal(codeOf(done), "value_not_allowed");
      assert.ok(done.err.includes(instead), done.err);
    }
    for (const journal of ["activity", "sessions"]) {
      const done = await home.operator([journal]);
      assert.deepEqual([done.code, codeOf(done)], [1, "not_found"]);
      assert.match(done.err, /gw up/);
    }
  });

  test("a folder without a log is told by the command that looked, and by no other's name", async () => {
    const empty = makeFolder();
    for (const words of [
      ["audit", "verify"],
      ["audit", "checkpoint"],
      ["audit", "export"],
      ["audit", "share", "ada"],
      ["activity"],
      ["sessions"],
      ["activity", "show", "call_1"],
    ]) {
      const verifies = words[1] === "verify";
      const done = await (verifies ? home.run([...words, "--log", empty]) : home.operator([...words, "--log", empty]));
      assert.notEqual(done.code, 0, words.join(" "));
      const told = [...`${done.out}${done.err}`.matchAll(/gw ([^`]*?) --log FOLDER/g)].map(([, command]) => command);
      assert.deepEqual(told, [words.join(" ")]);
    }
  });

  test("a program is not enrolled under the name of a signer, and two files under one name are told", async () => {
    const key = join(dirname(home.folder), "signer.pem");
    const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    writeFileSync(key, publicKey.export({ format: "pem", type: "spki" }));
    await home.must(["caller", "trust", "releases", "--ima-key", key]);
    const enroll = (file: string, name: string) => home.operator(["caller", "enroll", file, "--as", name]);
    assert.equal(codeOf(await enroll("/bin/true", "releases")), "caller_signer_invalid");
    assert.doesNotMatch((await enroll("/bin/true", "our tool")).out, /gw caller list/);
    assert.match((await enroll("/bin/false", "our tool")).out, /gw caller list/);
    const names = JSON.parse((await home.run(["caller", "list", "--json"])).out) as readonly Members[];
    assert.deepEqual(
      names.map(({ authority }) => authority),
      ["our tool", "our tool", "releases"],
    );
  });

  test("a rule about an action that no pack has is signed with a warning, and one that is not there is not taken away", async () => {
    const two = home.copy();
    const theirs = join(dirname(home.folder), "bob-passphrase");
    writeFileSync(theirs, "bobs own passphrase\n", { mode: 0o600 });
    await two.must(["operator", "add", "bob", "--new-passphrase-file", theirs]);
    await two.trustPack("demo", demoPack("https://demo.example"), ["--operator", "ada"]);
    const approvers = (action: string, count: string) =>
      two.operator(["policy", "approvers", action, count, "--operator", "ada"]);
    assert.match((await approvers("demo.thing.brun", "2")).err, /gw actions/);
    assert.doesNotMatch((await approvers("demo.thing.burn", "2")).err, /gw actions/);
    assert.equal(codeOf(await approvers("demo.thing.get", "1")), "not_found");
    assert.equal((await approvers("demo.thing.brun", "1")).code, 0);
    // Who has to go goes, and what nobody can meet any more is told.
    const removed = await two.must(["operator", "remove", "bob", "--operator", "ada"]);
    assert.match(removed.err, /met by nobody now[\s\S]*gw operator add/);
  });

  test("a provider that nobody reaches is told once, not once a check", async () => {
    const done = await home.run(["conformance", "http://127.0.0.1:1"]);
    assert.deepEqual([done.code, codeOf(done), done.out], [3, "provider_not_answered", ""]);
  });

  test("what the gateway refuses says what to do next", async () => {
    gateway = await home.up();
    // Now that there is a log, and somebody to join a hub.
    const hub = ["postgres://ada@127.0.0.1:1/gw", "--hub-password-file", home.passphraseFile, "--name", "web1"];
    for (const [code, args] of [
      ["not_found", ["activity", "show", "nothing"]],
      ["not_found", ["pack", "suggest", "--run", "nothing"]],
      ["value_not_allowed", ["audit", "archive", join(makeFolder(), "old"), "--before", "soon"]],
      ["archive_refused", ["audit", "archive", join(makeFolder(), "old"), "--before", "2020-01-01"]],
      ["hub_unreachable", ["hub", "join", ...hub]],
    ] as const)
      assert.equal(codeOf(await home.run(args)), code, args.join(" "));
    const wrapper = ["run", "--home", home.folder, "--actions"];
    const refused: readonly (readonly [code: string, next: RegExp, args: readonly string[]])[] = [
      ["not_found", /gw approvals/, ["approve", "apr_01m7gwx0168jedv0mkrybqr3k2"]],
      ["action_not_permitted", /acme\.nothing\.here[\s\S]*gw actions/, ["call", "acme.nothing.here"]],
      ["action_not_permitted", /acme\.nothing[\s\S]*gw actions/, [...wrapper, "acme.nothing", "--", "true"]],
      ["action_not_permitted", /acme\.nothing or[\s\S]*gw actions/, [...wrapper, "acme.nothing,b.*", "--", "true"]],
    ];
    for (const [code, next, args] of refused) {
      const done = await (["call", "run"].includes(args[0] ?? "") ? home.run(args) : home.operator(args));
      assert.deepEqual([done.code, codeOf(done)], [1, code], args.join(" "));
      assert.match(done.err, next);
    }
  });

  test("a value that an option does not take is wrong usage, whatever the option", async () => {
    const archive = ["audit", "archive", join(makeFolder(), "old")];
    const limit = ["hub", "limit", "deploys", "--counts", "attempts", "--pack", "acme"];
    for (const args of [
      ["activity", "--limit", "0"],
      ["sessions", "--limit", "some"],
      ["activity", "--since", "soon"],
      ["activity", "--since", "1h", "--until", "2h"],
      ["sessions", "--outcome", "perhaps"],
      ["login", "--for", "13h"],
      [...archive, "--before", "soon"],
      [...archive, "--keep-days", "-1"],
      ["policy", "set", "day_spend_cents", "lots"],
      ["policy", "set", "callbacks", "everywhere"],
      ["policy", "approvers", "acme.thing.get", "3"],
      ["policy", "decide-with", "passkey", "--effect", "read"],
      ["hub", "set", "--grace-s", "soon"],
      ["hub", "set", "--log", "never"],
      [...limit, "--a-day", "many"],
      ["ticket", "issue", "run_1", "--target", "https://a.example/", "--operation", "a.b", "--minutes", "0"],
      ["credential", "login", "acme", "--origin", "https://a.example", "--redirect-port", "70000"],
      ["call", "acme.thing.get", "--wait", "soon"],
    ]) {
      const done = await home.operator(args);
      assert.equal(done.code, 2, `${args.join(" ")}: ${done.err}`);
    }
  });

  test("on a terminal no word of a refusal, an answer or the help is cut where the window ends", {
    ...(noTmux === null ? {} : { skip: noTmux }),
  }, async () => {
    const words = (text: string): readonly string[] => text.split(/\s+/).filter((word) => word !== "");
    const longest = async (args: readonly string[]): Promise<readonly string[]> => {
      const { err, out } = await home.run(args);
      return words(err + out);
    };
    for (const args of [
      ["login", "--passphrase-file", home.passphraseFile],
      ["status", "--hub", "nothing"],
      ["console", "--port", "80"],
    ]) {
      const command = `"${GW}" ${args.join(" ")} --home "${home.folder}"`;
      // Where the window ends, a word of each would stand.
      const size = { columns: 37, rows: 30 };
      const pane = openPane(dirname(home.folder), `${command}; echo LEFT; sleep 600`, home.environment(), size);
      try {
        await pane.shows("LEFT");
        const shown = words(pane.text());
        for (const word of (await longest(args)).filter(({ length }) => length < 35))
          assert.ok(shown.includes(word), word);
      } finally {
        pane.close();
      }
    }
    await home.run(["logout"]);
    const help = (await home.run(["--help"])).out.split("\n");
    assert.deepEqual(
      help.filter((line) => line.length > 80),
      [],
    );
  });
});
