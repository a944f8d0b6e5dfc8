import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { LiveCaller } from "../../gateway/ports.ts";
import { Denied } from "../../kernel/failure.ts";
import { MCP_OPTIONS_HEADER, MCP_PATH, MCP_UPGRADE, readBridgeOptions } from "./bridge.ts";
import type { McpOpening } from "./serve.ts";

export interface UpgradeRequest {
  readonly request: Pick<IncomingMessage, "method" | "url" | "headers">;
  readonly socket: Duplex;
  readonly head: Buffer;
  readonly caller: LiveCaller;
  /** Told whenever the first of its requests begins, and when none is open any more. */
  working(busy: boolean): void;
}

export type McpHost = Omit<McpOpening, keyof UpgradeRequest | "options">;

/** Turns an agent connection into an MCP one. Denied before anything is written when it asks for something else. */
export async function upgradeToMcp(asked: UpgradeRequest, host: McpHost): Promise<void> {
  const { request, socket, head, caller, working } = asked;
  const { method, url, headers } = request;
  if (url !== MCP_PATH || method !== "GET") throw new Denied("not_found", "Nothing here can be upgraded.");
  if (headers.upgrade !== MCP_UPGRADE) throw new Denied("framing_invalid", `Only ${MCP_UPGRADE} is spoken here.`);
  const header = headers[MCP_OPTIONS_HEADER];
  const options = readBridgeOptions(Array.isArray(header) ? header.join(", ") : header);
  // The protocol's own package is large: a gateway that serves no MCP client never loads it.
  const { serveMcp } = await import("./serve.ts");
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${MCP_UPGRADE}\r\n\r\n`);
  working(false);
  serveMcp({ ...host, socket, head, caller, options, working });
}
