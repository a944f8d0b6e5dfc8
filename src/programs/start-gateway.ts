import { spawn } from "node:child_process";
import { join } from "node:path";
import { allowedEnvironment } from "../adapters/platform/environment.ts";
import { Denied } from "../kernel/failure.ts";
import type { GatewayProcess } from "../surfaces/cli/commands/deps.ts";

/** Freed memory is cleared, so that what passed through the log or the vault does not linger in it. */
const FLAGS = ["--disable-sigusr1", "--clear-free-memory", "--disable-warning=ExperimentalWarning"];

/** Starts the gateway process for a home. It is ready when it says so; signals to this process are handed on. */
export async function startGateway(home: string, keyFile: string | null, config?: string): Promise<GatewayProcess> {
  const file = join(import.meta.dirname, import.meta.filename.endsWith(".ts") ? "gateway.ts" : "gateway.js");
  const args = [
    ...[...FLAGS, file, home],
    ...(config === undefined ? [] : ["--config", config]),
    ...(keyFile === null ? [] : ["--key-file", keyFile]),
  ];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"], env: allowedEnvironment() });
  const stopped = new Promise<number>((resolve) => child.once("exit", (code) => resolve(code ?? 1)));
  const stop = (): void => void child.kill("SIGTERM");
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, stop);
  const ready = new Promise<void>((resolve) => child.stdout?.once("data", () => resolve()));
  const started = await Promise.race([ready.then(() => true), stopped.then(() => false)]);
  if (!started || child.pid === undefined) {
    throw new Denied("gateway_unreachable", "The gateway did not start; its own message stands above.");
  }
  return { pid: child.pid, stopped, stop };
}
