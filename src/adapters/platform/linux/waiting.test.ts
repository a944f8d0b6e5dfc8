import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { descriptorOf } from "../descriptor.ts";
import { takeWaiting } from "./waiting.ts";

const linux = process.platform === "linux" ? {} : { skip: "there is no such call elsewhere" };

test(
  "all who wait are met at once: the unwelcome are closed, the others can speak, and only so many are taken",
  linux,
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "gw-"));
    const path = join(folder, "socket");
    const own: Socket[] = [];
    const server = createServer((socket) => void own.push(socket));
    await new Promise<void>((resolve) => void server.listen(path, () => resolve()));
    try {
      const clients = Array.from({ length: 30 }, () => connect(path));
      const closed = clients.map(
        (client) => new Promise<void>((resolve) => void client.once("close", () => resolve())),
      );
      // Node has had no turn yet, so that nobody was taken but by this.
      const taken: Socket[] = [];
      const met: number[] = [];
      const welcomes = (pid: number): boolean => met.push(pid) > 20;
      takeWaiting(descriptorOf(server), 3, welcomes, (socket) => taken.push(socket));
      assert.deepEqual([met.length, taken.length, own.length], [23, 3, 0]);
      assert.deepEqual([...new Set(met)], [process.pid]);
      await Promise.all(closed.slice(0, 20));
      const said = new Promise<string>((resolve) => void taken[0]?.once("data", (text) => resolve(String(text))));
      clients[20]?.write("here");
      assert.equal(await said, "here");
      takeWaiting(
        descriptorOf(server),
        100,
        () => true,
        (socket) => taken.push(socket),
      );
      for (const socket of [...taken, ...own, ...clients]) socket.destroy();
    } finally {
      server.close();
      rmSync(folder, { recursive: true, force: true });
    }
  },
);
