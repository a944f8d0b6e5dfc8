import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Denied } from "../../kernel/failure.ts";
import { findPlace } from "./find.ts";

const own = process.geteuid?.() ?? 0;
const nobodyElse = () => () => undefined;

function stage(t: { after(work: () => void): void }) {
  const folder = mkdtempSync(join(tmpdir(), "gw-place-"));
  const before = process.env["GW_HOME"];
  delete process.env["GW_HOME"];
  t.after(() => {
    rmSync(folder, { recursive: true, force: true });
    if (before === undefined) delete process.env["GW_HOME"];
    else process.env["GW_HOME"] = before;
  });
  const config = join(folder, "gw.yaml");
  const write = (text: string): string => {
    writeFileSync(config, text);
    chmodSync(config, 0o644);
    return config;
  };
  return { folder, config, write };
}

test("the home is what --home says, else GW_HOME, else what the machine's file names", async (t) => {
  const { folder, write } = stage(t);
  const config = write(`home: ${folder}/machine\nuser: ${own}\n`);
  process.env["GW_HOME"] = join(folder, "named");
  const found = await findPlace({ home: join(folder, "given"), config }, nobodyElse);
  assert.equal(found.home, join(folder, "given"));
  assert.equal((await findPlace({ home: undefined, config }, nobodyElse)).home, join(folder, "named"));
  process.env["GW_HOME"] = "";
  const machine = await findPlace({ home: undefined, config }, nobodyElse);
  assert.deepEqual(
    [machine.home, machine.agent.path, machine.operator.path],
    [join(folder, "machine"), "/run/gw/agent.sock", "/run/gw/operator.sock"],
  );
});

test("a home that the machine's file names has that file's sockets and user, however it was found", async (t) => {
  const { folder, write } = stage(t);
  const config = write(`home: ${folder}/m\nuser: 4711\nagent_socket: /run/x/a\noperator_socket: /run/x/o\n`);
  const asked: number[] = [];
  const found = await findPlace({ home: join(folder, "m"), config }, (owner) => {
    asked.push(owner);
    return () => undefined;
  });
  assert.deepEqual([found.agent.path, found.operator.path, found.owner], ["/run/x/a", "/run/x/o", 4711]);
  assert.deepEqual([...new Set(asked)], [4711], "the server has to be the configured user");
});

test("sockets that a home's own config.yaml names are those that clients use", async (t) => {
  const { folder } = stage(t);
  const home = join(folder, "home");
  mkdirSync(home, { mode: 0o700 });
  writeFileSync(join(home, "config.yaml"), "agent_socket: /tmp/elsewhere/a.sock\n", { mode: 0o600 });
  const found = await findPlace({ home, config: undefined }, nobodyElse);
  assert.deepEqual([found.agent.path, found.operator.path], ["/tmp/elsewhere/a.sock", join(home, "operator.sock")]);
  assert.equal(found.owner, own, "the owner of the home is who has to answer");
});

test("a machine's file that others may change, or that says what nobody reads, is refused", async (t) => {
  const { folder, config, write } = stage(t);
  const refused = (text: string, mode = 0o644) =>
    assert.rejects(
      async () => {
        write(text);
        chmodSync(config, mode);
        await findPlace({ home: undefined, config }, nobodyElse);
      },
      (error) => error instanceof Denied && error.code === "config_invalid",
      text,
    );
  await refused(`home: ${folder}\nuser: 1\n`, 0o666);
  await refused(`home: ${folder}\n`);
  await refused("user: 1\n");
  await refused("home: relative\nuser: 1\n");
  await refused(`home: ${folder}\nuser: nobody-has-this-name\n`);
  await refused(`home: ${folder}\nuser: -1\n`);
  await refused(`home: ${folder}\nuser: 1\nmode: dedicated\n`);
  await refused(`home: [${folder}]\nuser: 1\n`);
});

test("no variable names another configuration", async (t) => {
  const { folder, write } = stage(t);
  const config = write(`home: ${folder}\nuser: 1\n`);
  process.env["GW_CONFIG"] = config;
  t.after(() => delete process.env["GW_CONFIG"]);
  assert.notEqual((await findPlace({ home: undefined, config: undefined }, nobodyElse)).home, folder);
});
