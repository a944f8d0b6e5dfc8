import { type IncomingMessage, request } from "node:http";
import type { Duplex, Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { codes } from "../../kernel/codes.ts";
import { showText } from "../../kernel/display.ts";
import { Denied } from "../../kernel/failure.ts";
import { knock, sayUnreachable } from "../client/connection.ts";
import { type BridgeRecord, MCP_OPTIONS_HEADER, MCP_PATH, MCP_UPGRADE } from "../mcp/bridge.ts";
import type { Door } from "../place/place.ts";
import { type BudgetOptions, budgetAsked } from "./commands/budget-options.ts";
import { type CliIo, type Exit, exits } from "./io.ts";
import { agentDoor, type BaseOptions } from "./options.ts";

export interface McpOptions extends BaseOptions, BudgetOptions {
  readonly actions?: readonly string[];
  readonly wait?: number;
  /** What `gw run` says to the programs below it. */
  readonly wrapped?: { readonly run: string; readonly home: string };
}

export interface Pipes {
  readonly input: Readable;
  readonly output: Writable;
}

/**
 * `gw mcp`: a plain pipe between a client's pipes and the gateway. It reads none of what it carries and decides nothing;
 * to the gateway this process is the caller, and it says so on the card.
 */
export async function runMcp(options: McpOptions, io: Pick<CliIo, "err">, pipes: Pipes): Promise<Exit> {
  const opened = await open(agentDoor(options), bridgeRecord(options));
  if (opened.kind === "refused") {
    io.err(opened.message);
    return opened.exit;
  }
  const { socket, head } = opened;
  if (head.length > 0) socket.unshift(head);
  const inward = pipeline(pipes.input, socket).catch(() => undefined);
  try {
    await pipeline(socket, pipes.output, { end: false });
  } catch {
    // The client or the gateway went away; either ends the bridge.
  }
  const clientLeft = pipes.input.readableEnded || pipes.input.destroyed || pipes.output.destroyed;
  pipes.input.destroy();
  socket.destroy();
  await inward;
  if (clientLeft) return exits.done;
  // A client shows this in its log, and otherwise nothing but that the server is gone.
  io.err(ENDED);
  return exits.unreachable;
}

const ENDED =
  "gateway_unreachable: The gateway ended this connection. Of a call that has no answer it is not known here whether it was sent: gw activity. Once the gateway runs again (gw status), have the client start this server anew.";

/** Only what was asked for: the gateway has the defaults. */
export function bridgeRecord(options: McpOptions): BridgeRecord {
  const { actions, wait, wrapped } = options;
  const budget = budgetAsked(options);
  return {
    ...(actions === undefined ? {} : { actions }),
    ...(Object.keys(budget).length === 0 ? {} : { budget }),
    ...(wait === undefined ? {} : { wait_seconds: wait }),
    ...(wrapped?.home === options.home ? { wrapped_by: wrapped.run } : {}),
  };
}

type Opened =
  | { readonly kind: "open"; readonly socket: Duplex; readonly head: Buffer }
  | { readonly kind: "refused"; readonly message: string; readonly exit: Exit };

function open(door: Door, record: BridgeRecord): Promise<Opened> {
  return new Promise((resolve) => {
    const asked = request({
      createConnection: (_options, done) => {
        knock(door, (error, socket) => done(error, socket));
        return undefined;
      },
      path: MCP_PATH,
      headers: { connection: "Upgrade", upgrade: MCP_UPGRADE, [MCP_OPTIONS_HEADER]: JSON.stringify(record) },
    });
    asked.once("upgrade", (_response, socket, head) => resolve({ kind: "open", socket, head }));
    asked.once("response", (response) => void readRefusal(response).then(resolve));
    asked.once("error", (error) => resolve(unreachable(error, door.path)));
    asked.end();
  });
}

async function readRefusal(response: IncomingMessage): Promise<Opened> {
  const chunks: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  let code = "internal_fault";
  let message = "The gateway refused without saying why.";
  try {
    const problem = JSON.parse(Buffer.concat(chunks).toString("utf8")) as { code?: unknown; message?: unknown };
    if (typeof problem.code === "string") code = problem.code;
    if (typeof problem.message === "string") message = problem.message;
  } catch {
    // Whatever answered is not our gateway; the words above say what is known.
  }
  const mend = code in codes ? codes[code as keyof typeof codes].mend : "";
  return { kind: "refused", message: `${code}: ${showText(message)} ${mend}`.trimEnd(), exit: exits.denied };
}

function unreachable(error: Error, socketPath: string): Opened {
  if (error instanceof Denied)
    return { kind: "refused", message: `${error.code}: ${error.message}`, exit: exits.denied };
  const message = `gateway_unreachable: ${sayUnreachable(error, socketPath)}`;
  return { kind: "refused", message, exit: exits.unreachable };
}
