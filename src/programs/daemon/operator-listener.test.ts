import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { OperationBoard } from "../../conventions/operation/summary.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import { listenForOperators, type OperatorListenerOptions } from "./operator-listener.ts";

/** A board of about `bytes`; `open` tells one from another. */
function boardOf(open: number, bytes = 0): OperationBoard {
  return { open, needs_person: 0, shown: [{ detail: "x".repeat(bytes) }] as never, ended: [] };
}

async function listen() {
  const folder = mkdtempSync(join(tmpdir(), "gw-"));
  const path = join(folder, "operator.sock");
  const boards = new Set<(board: OperationBoard) => void>();
  const cards = new Set<(approval: never) => void>();
  const queue = { welcomes: (_pid: number): boolean => assert.fail("nobody came") };
  const options = {
    socket: { path, group: null },
    onOperator: () => undefined,
    routes: [],
    logins: {
      find(authorization: string | undefined) {
        if (authorization !== "Bearer right") throw new Denied("operator_not_logged_in", "no");
        return {};
      },
    },
    desk: {
      list: () => [],
      watch(listener: (approval: never) => void) {
        cards.add(listener);
        return () => void cards.delete(listener);
      },
    },
    operations: {
      watch(listener: (board: OperationBoard) => void) {
        boards.add(listener);
        listener(boardOf(0));
        return () => void boards.delete(listener);
      },
    },
    clock: { bootMs: () => 0 },
    peers: {
      nameOf: () => 1,
      takeWaiting(_server: unknown, _most: number, welcomes: (pid: number) => boolean) {
        queue.welcomes = welcomes;
      },
    },
    correlationId: () => "evt_1",
    onRecord: async () => undefined,
    onFault: () => undefined,
  } as unknown as OperatorListenerOptions;
  const door = await listenForOperators(options);
  const open = (token = "right"): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}` };
      const asked = request({ socketPath: path, path: "/v1/events", headers }, resolve);
      asked.on("error", reject);
      asked.end();
    });
  return {
    path,
    queue,
    open,
    boards,
    cards,
    post(board: OperationBoard) {
      for (const listener of boards) listener(board);
    },
    close() {
      door.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function until(done: () => boolean): Promise<void> {
  for (let turns = 0; turns < 100_000 && !done(); turns++) await turn();
  assert.ok(done());
}

test("the stream asks for a login, tells a board at once, and stops watching when nobody reads on", async () => {
  const stand = await listen();
  try {
    const refused = await stand.open("wrong");
    assert.equal(refused.statusCode, 401);
    refused.resume();
    const stream = await stand.open();
    let text = "";
    stream.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
    await until(() => text.includes('event: operations\ndata: {"open":0'));
    stand.post(boardOf(7));
    await until(() => text.includes('"open":7'));
    stream.destroy();
    await until(() => stand.boards.size === 0 && stand.cards.size === 0);
  } finally {
    stand.close();
  }
});

test("a watcher that reads slowly gets the newest board and not all that it missed", async () => {
  const stand = await listen();
  try {
    const stream = await stand.open();
    stream.pause();
    const count = 400;
    for (let open = 1; open <= count; open++) {
      stand.post(boardOf(open, 50_000));
      await turn();
    }
    assert.equal(stand.boards.size, 1, "boards alone never cost it its stream");
    const seen: number[] = [];
    let rest = "";
    stream.setEncoding("utf8").on("data", (chunk: string) => {
      const events = (rest + chunk).split("\n\n");
      rest = events.pop() ?? "";
      for (const event of events) seen.push(Number(/"open":([0-9]+)/.exec(event)?.[1]));
    });
    stream.resume();
    await until(() => seen.at(-1) === count);
    assert.ok(seen.length < count / 2, `${seen.length} of ${count} were kept for it`);
    assert.deepEqual(
      seen,
      [...seen].sort((a, b) => a - b),
    );
    stream.destroy();
  } finally {
    stand.close();
  }
});

test("a watcher that does not read at all is let go once too much news waits for it", async () => {
  const stand = await listen();
  try {
    const stream = await stand.open();
    stream.on("error", () => undefined);
    stream.pause();
    const card = { text: "x".repeat(100_000) };
    const approval = { card, given: [], expiresBootMs: 0 } as never;
    const most = Math.ceil(defaults.operatorStreamBytes / 100_000) * 4;
    for (let told = 0; told < most && stand.cards.size > 0; told++) {
      for (const listener of stand.cards) listener(approval);
      await turn();
    }
    await until(() => stand.cards.size === 0);
    stream.destroy();
  } finally {
    stand.close();
  }
});

test("of those who wait at the door a process that has its places is not welcome, and any other is", async () => {
  const stand = await listen();
  const held: Socket[] = [];
  try {
    for (let places = 0; places < defaults.operatorConnectionsPerProcess; places++) {
      if (places > 0) assert.equal(stand.queue.welcomes(1), true);
      const socket = connect(stand.path);
      held.push(socket);
      await new Promise<void>((resolve) => {
        socket.once("data", () => resolve());
        socket.write("GET /v1/events HTTP/1.1\r\n\r\n");
      });
    }
    assert.deepEqual([stand.queue.welcomes(1), stand.queue.welcomes(2)], [false, true]);
  } finally {
    for (const socket of held) socket.destroy();
    stand.close();
  }
});
