import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, test } from "node:test";
import {
  asUser,
  type Gateway,
  GW,
  Home,
  type Members,
  makeFolder,
  openPlane,
  openRun,
  type Plane,
  type Reply,
  until,
  within,
} from "./support/home.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";
import { idOf } from "./support/reply.ts";

const fixture = join(import.meta.dirname, "fixtures", "mcp-agent.ts");
const RECORDS = 5;

describe("a list that is read in part", asUser, () => {
  let home: Home;
  let provider: TestProvider;
  let gateway: Gateway | undefined;
  let agent: Plane;

  before(async () => {
    provider = await startProvider();
    provider.answer(({ url }, response) => {
      const from = Number(new URL(url, provider.origin).searchParams.get("cursor") ?? 0);
      const data = [from, from + 1].filter((record) => record < RECORDS);
      const next_cursor = from + 2 < RECORDS ? String(from + 2) : null;
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ data, next_cursor }));
    });
    home = await new Home(makeFolder()).init();
    await home.addCredential("acme", provider.origin);
    await home.trustPack(
      "acme",
      `format: gw.pack/v1
pack: acme
provider: { origin: "${provider.origin}", credential: acme, auth: { scheme: bearer } }
actions:
  thing.list:
    effect: read
    request: { method: GET, path: /v1/things }
    pages: { items: data, cursor: next_cursor, cursor_param: cursor, size_param: limit, page_size: 2, max_pages: 9, max_records: 99 }
`,
    );
    gateway = await home.up();
    agent = openPlane(home.agentSocket);
  });

  after(async () => {
    agent?.close();
    await gateway?.end("SIGTERM");
    await provider?.close();
  });

  const read = (run: string, list: Members): Promise<Reply> =>
    agent.ask("POST", `/v1/runs/${run}/calls`, { action: "acme.thing.list", input: {}, list }, { prefer: "wait=30" });

  /** Another bridge than the one that read the list before. */
  async function assertRefused(handle: string): Promise<void> {
    const other = startBridge(home);
    try {
      assert.notEqual(handleOf(await other.approved({ max_pages: 1 })), handle);
      const seen = provider.received.length;
      const refused = await other.read({ continue: handle });
      assert.equal(provider.received.length, seen, "a handle that is refused sends nothing");
      assert.equal(refused["code"], "list_handle_unknown", JSON.stringify(refused));
    } finally {
      await other.end();
    }
  }

  const handles = { plain: "", bridge: "" };

  test("is continued by its agent with our handle, and by nobody in another run", async () => {
    const run = await openRun(home, agent, ["acme.thing.list"]);
    const first = await read(run, { max_pages: 1 });
    assert.deepEqual(dataOf(first.body), [0, 1], first.text);
    handles.plain = handleOf(first.body);
    assert.match(handles.plain, /^lst_/);
    const rest = await read(run, { continue: handles.plain });
    assert.deepEqual([dataOf(rest.body), handleOf(rest.body)], [[2, 3, 4], "null"], rest.text);
    const seen = provider.received.length;
    const other = await openRun(home, agent, ["acme.thing.list"]);
    const elsewhere = await read(other, { continue: handles.plain });
    assert.deepEqual([elsewhere.status, elsewhere.body["code"]], [404, "list_handle_unknown"], elsewhere.text);
    assert.equal(provider.received.length, seen, "a handle that is refused sends nothing");
  });

  test("is continued through gw mcp with our handle, and by no other bridge", async () => {
    const one = startBridge(home);
    try {
      const first = await one.approved({ max_pages: 1 });
      assert.deepEqual(dataOf(first), [0, 1], JSON.stringify(first));
      handles.bridge = handleOf(first);
      const rest = await one.read({ continue: handles.bridge });
      assert.deepEqual([dataOf(rest), handleOf(rest)], [[2, 3, 4], "null"], JSON.stringify(rest));
      await assertRefused(handles.bridge);
    } finally {
      await one.end();
    }
  });

  test("is continued by nobody after a restart, but begun again", async () => {
    agent.close();
    await gateway?.end("SIGTERM");
    gateway = await home.up();
    agent = openPlane(home.agentSocket);
    const later = await openRun(home, agent, ["acme.thing.list"]);
    const seen = provider.received.length;
    const late = await read(later, { continue: handles.plain });
    assert.deepEqual([late.status, late.body["code"]], [404, "list_handle_unknown"], late.text);
    assert.equal(provider.received.length, seen, "a handle that is refused sends nothing");
    assert.deepEqual(dataOf((await read(later, {})).body), [0, 1, 2, 3, 4], "the list is begun again");
    await assertRefused(handles.bridge);
  });
});

const dataOf = (result: Members): unknown => ((result["response"] as Members)["body"] as Members)["data"];
const handleOf = (result: Members): string => String((result["discovery"] as Members)["continue"]);

/** An official client with `gw mcp` as its child: one call of the list at a time. */
function startBridge(home: Home) {
  const command = ["--disable-warning=ExperimentalWarning", fixture, "current", GW, home.folder];
  const child = spawn(process.execPath, command, { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const answer = async (name: string): Promise<Members> => {
    for (;;) {
      const { value, done } = await within(lines.next(), 120_000, "the client's answer");
      assert.ok(done !== true, "the client ended");
      const said = JSON.parse(String(value)) as Members;
      if (name in said) return said;
      assert.ok("progress" in said || "version" in said, String(value));
    }
  };
  const read = async (list: Members): Promise<Members> => {
    child.stdin.write(`${JSON.stringify({ do: "call", name: "acme__thing-list", input: { list } })}\n`);
    return (await answer("structuredContent"))["structuredContent"] as Members;
  };
  return {
    read,
    /** The first call of a bridge asks for its session. */
    async approved(list: Members): Promise<Members> {
      const reading = read(list);
      reading.catch(() => undefined);
      const [approval] = await home.approvals();
      await home.approve(idOf(approval, "approval_id"));
      return reading;
    },
    async end(): Promise<void> {
      child.kill("SIGKILL");
      await exited;
      await until("no question of it is left", async () => (await home.status())["approvals_pending"] === 0);
    },
  };
}
