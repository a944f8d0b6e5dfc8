import { createInterface } from "node:readline";
import { parseJsonValue } from "../packages/request/src/json/parse.ts";
import { requireServerOf } from "../src/adapters/platform/server.ts";
import { Denied } from "../src/kernel/failure.ts";
import type { JsonObject, JsonValue } from "../src/kernel/json.ts";
import { openConnection } from "../src/surfaces/client/connection.ts";
import { findPlace } from "../src/surfaces/place/find.ts";

/**
 * The agent of the demo: a process of its own that knows nothing but where the home is. It does what a line on its
 * standard input says, and answers with a line. `exec` replaces its image by a fresh one of the same program.
 */
interface Order {
  readonly method?: "GET" | "POST";
  readonly path?: string;
  readonly body?: JsonObject;
  readonly wait?: number;
  readonly exec?: true;
}

const [home = ""] = process.argv.slice(2);
const { agent } = await findPlace({ home, config: undefined }, requireServerOf);
const connection = openConnection(agent);
const answer = (status: number, body: JsonValue): void =>
  void process.stdout.write(`${JSON.stringify({ status, body })}\n`);

answer(0, { pid: process.pid });
for await (const line of createInterface(process.stdin)) {
  const { method = "GET", path = "/", body, wait = 30, exec } = JSON.parse(line) as Order;
  if (exec === true) {
    process.execve?.(process.execPath, [process.execPath, ...process.execArgv, ...process.argv.slice(1)], process.env);
  }
  try {
    const options = { headers: { prefer: `wait=${wait}` }, ...(body === undefined ? {} : { body }) };
    const reply = await connection.bytes(method, path, options);
    answer(reply.status, parseJsonValue(reply.body));
  } catch (error) {
    if (!(error instanceof Denied)) throw error;
    answer(400, { code: error.code, message: error.message, ...error.extra });
  }
}
connection.close();
