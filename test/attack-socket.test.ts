import assert from "node:assert/strict";
import { renameSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { asUser, codeOf, type Gateway, GW, Home, makeFolder, type Started, start, until } from "./support/home.ts";

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
