import { spawn } from "node:child_process";
import { join } from "node:path";
import { allowedEnvironment } from "../adapters/platform/environment.ts";
import { type Code, codes } from "../kernel/codes.ts";
import { Denied } from "../kernel/failure.ts";
import type { GatewayProcess } from "../surfaces/cli/commands/deps.ts";

/**
 * Freed memory is cleared, so that what passed through the log or the vault does not linger in it. The young generation of
 * the heap is bounded: what is read there is dead at once, and the pages of a larger one stay with the process. What the way
 * of a call does is compiled for good after hundreds of calls and not after thousands, which many a gateway never has.
 */
export const GATEWAY_FLAGS: readonly string[] = [
  "--disable-sigusr1",
  "--clear-free-memory",
  "--max-semi-space-size=64",
  "--invocation-count-for-turbofan=300",
  "--disable-warning=ExperimentalWarning",
];

/** Every thread would otherwise have pools of its own in the C library, each of which keeps what it once needed. */
export function gatewayEnvironment(): NodeJS.ProcessEnv {
  return { ...allowedEnvironment(), MALLOC_ARENA_MAX: "2" };
}

/** Starts the gateway process for a home. It is ready when it says so; signals to this process are handed on. */
export async function startGateway(
  home: string,
  keyFile: string | null,
  config?: string,
  program = join(import.meta.dirname, `gateway.${import.meta.filename.endsWith(".ts") ? "ts" : "js"}`),
): Promise<GatewayProcess> {
  const args = [
    ...[...GATEWAY_FLAGS, program, home],
    ...(config === undefined ? [] : ["--config", config]),
    ...(keyFile === null ? [] : ["--key-file", keyFile]),
  ];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"], env: gatewayEnvironment() });
  const stopped = new Promise<Denied | null>((resolve) =>
    child.once("exit", (status, signal) => resolve(status === 0 ? null : endedBy(signal ?? `status ${status}`))),
  );
  const stop = (): void => void child.kill("SIGTERM");
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, stop);
  const said = new Promise<string>((resolve) => child.stdout?.once("data", (bytes: Buffer) => resolve(String(bytes))));
  const first = await Promise.race([said, stopped.then(() => "")]);
  if (!first.startsWith("ready ") || child.pid === undefined) throw refusalIn(first);
  return { pid: child.pid, stopped, stop };
}

/** It may have had no time to say anything itself: whoever started it is the only one who knows. */
function endedBy(how: string): Denied {
  return new Denied("gateway_ended", `The gateway ended with ${how}, not in order.`, {
    next: codes.gateway_ended.mend,
  });
}

/** What the gateway says of a start that it refuses, so that its own code is the command's. */
function refusalIn(line: string): Denied {
  if (line.startsWith("refused ")) {
    const { code, message } = JSON.parse(line.slice("refused ".length)) as {
      readonly code: Code;
      readonly message: string;
    };
    return new Denied(code, message);
  }
  return new Denied("gateway_unreachable", "The gateway ended before it was ready, and did not say why.");
}
