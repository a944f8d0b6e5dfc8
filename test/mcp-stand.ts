import assert from "node:assert/strict";
import { type Duplex, duplexPair } from "node:stream";
import type { Ancestor } from "../src/conventions/caller/evidence.ts";
import type { Approval } from "../src/gateway/approval/question.ts";
import type { LiveCaller } from "../src/gateway/ports.ts";
import { readBridgeOptions } from "../src/surfaces/mcp/bridge.ts";
import { serveMcp } from "../src/surfaces/mcp/serve.ts";
import { createTurns } from "../src/surfaces/mcp/turns.ts";
import { type ScriptedCaller, scriptedCaller } from "./support/caller.ts";
import type { Bench } from "./support/gateway.ts";

export type Members = { readonly [name: string]: unknown };

/** A client without a library: it writes JSON-RPC by hand, so that it can also do what libraries do not. */
export interface Wire {
  readonly caller: ScriptedCaller;
  readonly peer: Duplex;
  readonly notified: { readonly method: string; readonly params: Members }[];
  readonly faults: unknown[];
  closed: boolean;
  /** The parent that the bridge has now. */
  parent: Ancestor | undefined;
  request(method: string, params?: object, id?: number): Promise<Members>;
  notify(method: string, params?: object): void;
  call(name: string, input?: object, meta?: object, id?: number): Promise<ToolAnswer>;
}

export interface ToolAnswer {
  readonly isError?: boolean;
  readonly content: readonly { readonly type: string; readonly text: string }[];
  readonly structuredContent: Members;
}

export const PARENT: Ancestor = { pid: 4_242, startTime: "77", path: "/opt/agent/bin/agent" };

/** The agent's side of a bridge, at a gateway of the test. */
export function serveBridge(
  { gateway, time: { sleep } }: Bench,
  socket: Duplex,
  onFault: (error: unknown) => void,
  { caller = scriptedCaller(), header }: { readonly caller?: LiveCaller; readonly header?: string | undefined } = {},
): void {
  const head = Buffer.alloc(0);
  const options = readBridgeOptions(header);
  const [turns, version, correlationId] = [createTurns(64, 0), "0.0.0", () => "evt_test"] as const;
  serveMcp({ turns, socket, head, caller, options, gateway, sleep, version, correlationId, onFault });
}

/** A bridge at a gateway of the test, past `initialize`. */
export async function openWire(bench: Bench, header?: string, parent: Ancestor | undefined = PARENT): Promise<Wire> {
  const scripted = scriptedCaller();
  const [socket, peer] = duplexPair();
  const waiting = new Map<number, (message: Members) => void>();
  let serial = 0;
  let rest = "";
  const wire: Wire = {
    caller: scripted,
    peer,
    notified: [],
    faults: [],
    closed: false,
    parent,
    request(method, params = {}, id = ++serial) {
      peer.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
      return new Promise((resolve) => waiting.set(id, resolve));
    },
    notify(method, params = {}) {
      peer.write(`${JSON.stringify({ jsonrpc: "2.0", method, params })}\n`);
    },
    async call(name, input = {}, meta, id) {
      const params = { name, arguments: input, ...(meta === undefined ? {} : { _meta: meta }) };
      const answer = await wire.request("tools/call", params, id);
      assert.ok("result" in answer, JSON.stringify(answer));
      return answer["result"] as ToolAnswer;
    },
  };
  peer.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const message = JSON.parse(line) as Members;
      if ("method" in message) wire.notified.push(message as never);
      else waiting.get(Number(message["id"]))?.(message);
    }
  });
  peer.once("end", () => {
    wire.closed = true;
  });
  const caller: LiveCaller = {
    ...scripted,
    ancestry: () => (wire.parent === undefined ? [] : [wire.parent]),
    retain: () => caller,
  };
  serveBridge(bench, socket, (error) => wire.faults.push(error), { caller, header });
  const clientInfo = { name: "hand", version: "1.0" };
  await wire.request("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
  wire.notify("notifications/initialized");
  return wire;
}

/** Lets input and output happen until `look` gives something. Time stands still meanwhile. */
export async function soon<Found>(what: string, look: () => Found | undefined | false): Promise<Found> {
  const stopAt = performance.now() + 120_000;
  for (;;) {
    const found = look();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > stopAt) return assert.fail(`it did not happen: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** The card that waits, however long the disk takes to write down that it was asked for. */
export function waiting(bench: Bench): Promise<Approval> {
  return soon("a card", () => bench.gateway.desk.list().at(-1));
}
