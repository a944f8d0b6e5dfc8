import assert from "node:assert/strict";
import { once } from "node:events";
import { cpSync, renameSync } from "node:fs";
import { request as ask, createServer } from "node:http";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { freshFolder, makeKeys, openTestLog, removeFolders } from "./audit-kit.ts";
import {
  asUser,
  codeOf,
  demoPack,
  type Gateway,
  GW,
  Home,
  type Json,
  type Members,
  makeFolder,
  openPlane,
  type Plane,
  type Started,
  start,
  until,
} from "./support/home.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

const KOFFI = join(dirname(dirname(GW)), "node_modules", "koffi");

/**
 * Takes the place of operator.sock, passes everything on to the real one, and prints what it is handed. Asked to, it closes
 * its memory first, as our own programs do.
 */
const IMPOSTOR = `
const http = require("node:http"), { renameSync } = require("node:fs");
const [path, hidden, koffi] = process.argv.slice(1);
if (hidden === "hidden") require(koffi).load("libc.so.6").func("int prctl(int, ulong, ulong, ulong, ulong)")(4, 0, 0, 0, 0);
renameSync(path, path + ".real");
http.createServer((request, response) => {
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => {
    const body = Buffer.concat(parts);
    if (request.url === "/v1/unlock") console.log("handed " + body);
    const on = http.request({ socketPath: path + ".real", method: request.method, path: request.url, headers: request.headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    on.end(body);
  });
}).listen(path, () => console.log("listening"));`;

describe("who answers at the operator socket is proven before the service key is handed over", asUser, () => {
  let home: Home;
  let gateway: Gateway;

  before(async () => {
    home = await new Home(makeFolder()).init();
    gateway = await home.up();
  });

  after(async () => {
    await gateway?.end();
  });

  async function impostor(how: "open" | "hidden"): Promise<Started> {
    const started = start([process.execPath, "-e", IMPOSTOR, home.operatorSocket, how, KOFFI]);
    await until("the impostor listens", () => started.out().includes("listening") || started.child.exitCode !== null);
    assert.match(started.out(), /listening/, started.err());
    return started;
  }

  for (const how of ["open", "hidden"] as const) {
    test(`a program of the same user in the gateway's place is not handed it, although it passes everything on (${how})`, async () => {
      await home.must(["lock"]);
      const fake = await impostor(how);
      try {
        const refused = await home.operator(["unlock", "--first"]);
        assert.deepEqual([refused.code, codeOf(refused)], [1, "server_not_proven"], refused.err);
        assert.doesNotMatch(fake.out(), /handed/);
      } finally {
        await fake.end();
        renameSync(`${home.operatorSocket}.real`, home.operatorSocket);
      }
      await home.must(["unlock"]);
      assert.equal((await home.status())["locked"], false, "the gateway itself proves its earlier life");
    });
  }

  test("a gateway that was never unlocked cannot prove itself, and a person has to say so", async () => {
    const other = await new Home(makeFolder()).init();
    const locked = other.start(["up", "--locked"]);
    try {
      await until("it is up", () => locked.out().includes("Approve with"));
      const refused = await other.operator(["unlock"]);
      assert.deepEqual([refused.code, codeOf(refused)], [1, "server_not_proven"], refused.err);
      assert.match(refused.err, /type: gw unlock --first/);
      await other.must(["unlock", "--first"]);
      assert.equal((await other.status())["locked"], false);
    } finally {
      await locked.end();
    }
  });
});

/** Stands between a socket and whoever listens there, and tells everything on but for the answers of one route. */
async function lieAt(
  socket: string,
  route: string,
  lie: (told: Json) => Json,
  hear: (asked: string) => void = () => undefined,
): Promise<() => Promise<void>> {
  renameSync(socket, `${socket}.real`);
  const server = createServer((request, response) => {
    const on = ask({
      socketPath: `${socket}.real`,
      method: request.method ?? "",
      path: request.url ?? "",
      headers: request.headers,
    });
    hear(`${request.method} ${request.url}`);
    request.pipe(on);
    on.once("response", (answer) => {
      const parts: Buffer[] = [];
      answer.on("data", (part: Buffer) => parts.push(part));
      answer.once("end", () => {
        const body = Buffer.concat(parts);
        const told =
          `${request.method} ${request.url}` === route
            ? Buffer.from(JSON.stringify(lie(JSON.parse(body.toString("utf8")) as Json)))
            : body;
        response.writeHead(answer.statusCode ?? 0, { ...answer.headers, "content-length": told.byteLength }).end(told);
      });
    });
  });
  server.listen(socket);
  await once(server, "listening");
  return async () => {
    server.close();
    server.closeAllConnections();
    await once(server, "close");
    renameSync(`${socket}.real`, socket);
  };
}

const firstOf = (told: Json): Members => (told as readonly Members[])[0] as Members;
const cardIn = (told: Json): Members => firstOf(told)["card"] as Members;
const without = (from: Members, name: string): Members =>
  Object.fromEntries(Object.entries(from).filter(([member]) => member !== name));

describe("what a gateway answers is read by what its routes declare, and by nothing else", asUser, () => {
  let home: Home;
  let gateway: Gateway;
  let provider: TestProvider;
  let agent: Plane;

  before(async () => {
    provider = await startProvider();
    home = await new Home(makeFolder()).init();
    await home.addCredential("demo-token", provider.origin);
    await home.trustPack("demo", demoPack(provider.origin));
    gateway = await home.up();
    agent = openPlane(home.agentSocket);
    await agent.ask("POST", "/v1/runs", { purpose: "to be asked about", actions: ["demo.thing.get"] });
  });

  after(async () => {
    agent?.close();
    await gateway?.end();
    await provider?.close();
  });

  const lies: readonly {
    readonly says: string;
    readonly plane: "operatorSocket" | "agentSocket";
    readonly route: string;
    readonly command: readonly string[];
    lie(told: Json): Json;
  }[] = [
    {
      says: "a card with a member that nobody would be shown",
      plane: "operatorSocket",
      route: "GET /v1/approvals",
      command: ["approvals"],
      lie: (told) => [{ ...firstOf(told), card: { ...cardIn(told), also: "and everything else" } }],
    },
    {
      says: "a card without its budget",
      plane: "operatorSocket",
      route: "GET /v1/approvals",
      command: ["approvals", "--json"],
      lie: (told) => [
        { ...firstOf(told), card: { ...cardIn(told), run: without(cardIn(told)["run"] as Members, "budget") } },
      ],
    },
    {
      says: "an approval in a state that there is not",
      plane: "operatorSocket",
      route: "GET /v1/approvals",
      command: ["approvals"],
      lie: (told) => [{ ...firstOf(told), state: "approved by everybody" }],
    },
    {
      says: "a challenge with something beside it",
      plane: "operatorSocket",
      route: "POST /v1/login/challenge",
      command: ["approvals"],
      lie: (told) => ({ ...(told as Members), statement: "sign this instead" }),
    },
    {
      says: "a status that does not say whether it is locked",
      plane: "operatorSocket",
      route: "GET /v1/status",
      command: ["status"],
      lie: (told) => without(told as Members, "locked"),
    },
    {
      says: "an operation where a list was asked for",
      plane: "operatorSocket",
      route: "GET /v1/custody/operations",
      command: ["operation", "list"],
      lie: () => ({ operation_id: "op_1" }),
    },
    {
      says: "an action whose effect is no word",
      plane: "agentSocket",
      route: "GET /v1/actions",
      command: ["actions"],
      lie: (told) => [{ ...firstOf(told), effect: ["read"] }],
    },
    {
      says: "a run with a member too many",
      plane: "agentSocket",
      route: "POST /v1/runs",
      command: ["call", "demo.thing.get", "id=7", "--wait", "0"],
      lie: (told) => ({ ...(told as Members), granted: true }),
    },
  ];

  for (const { says, plane, route, command, lie } of lies) {
    test(`${says} is no answer: gw ${command[0]} says so and uses nothing of it`, async () => {
      const honest = await lieAt(home[plane], route, lie);
      try {
        const operator = plane === "operatorSocket" && command[0] !== "status";
        const done = await (operator ? home.operator([...command]) : home.run([...command]));
        assert.deepEqual([done.code, codeOf(done), done.out], [5, "answer_not_declared", ""], done.err);
        assert.match(done.err, new RegExp(`${route.replaceAll("/", "\\/")}`));
      } finally {
        await honest();
      }
    });
  }

  test("another log than the one on the disk is signed for by nobody, whoever offers it at the socket", async () => {
    await home.must(["approvals"]);
    // Written anew from a moment on: it needs an operator's signature, and nothing else, to pass for the real one.
    const folder = freshFolder();
    cpSync(join(home.folder, "audit"), folder, { recursive: true });
    const forged = await openTestLog(folder, { keys: makeKeys() });
    const offer = await forged.offerAttestation();
    const heard: string[] = [];
    const foreign = {
      log_id: offer.logId.toString("hex"),
      ...{ open_frame: offer.openFrame, open_link: offer.openLink.toString("hex") },
      ...{ head_frame: offer.headFrame, head_link: offer.headLink.toString("hex") },
      ...{ before_frame: offer.beforeFrame, before_link: offer.beforeLink.toString("hex"), unclean: offer.unclean },
    };
    const route = "POST /v1/log/attestation/offer";
    const honest = await lieAt(
      home.operatorSocket,
      route,
      () => foreign,
      (asked) => heard.push(asked),
    );
    try {
      const done = await home.operator(["approvals"]);
      assert.ok(heard.includes(route));
      assert.ok(!heard.includes("POST /v1/log/attestation"), "nothing was signed");
      assert.deepEqual([done.code, codeOf(done)], [1, "log_attestation_refused"], done.err);
    } finally {
      await honest();
      await forged.close();
      removeFolders();
    }
    await home.must(["approvals"]);
  });
});
