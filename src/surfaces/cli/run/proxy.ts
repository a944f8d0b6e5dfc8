import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAuthority } from "../../../conventions/box/authority.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { showText } from "../../../kernel/display.ts";
import type { RunView } from "../../agent/answers.ts";
import { proxyEnvironment } from "../../box/environment.ts";
import { reportRefusals } from "../../box/report-refusals.ts";
import { serveProxy } from "../../box/serve-proxy.ts";
import type { AgentClient } from "../../client/agent.ts";
import type { CliIo } from "../io.ts";
import { type Containment, type ContainPorts, toolsOf } from "./contain.ts";
import { type RunningCommand, startCommand } from "./start-command.ts";

/** `gw run --proxy`: tools as they are, through a proxy that they are asked to use. It contains nothing, and the card says so. */
export async function prepareProxy(
  command: readonly string[],
  home: string,
  client: AgentClient,
  io: CliIo,
  ports: ContainPorts,
): Promise<Containment> {
  const authority = createAuthority(ports.clock, ports.random);
  const tools = toolsOf(await client.actions());
  return {
    tier: null,
    async start({ run_id: runId, ...run }: RunView): Promise<RunningCommand> {
      const folder = mkdtempSync(join(tmpdir(), "gw-proxy-"));
      const certificate = join(folder, "ca.pem");
      writeFileSync(certificate, authority.certificate, { mode: 0o600 });
      const reports = reportRefusals((report) => client.reportRefused(runId, report));
      const token = ports.random.bytes(defaults.tokenBytes).toString("hex");
      const { findPeer } = ports;
      const proxy = await serveProxy(
        {
          authority,
          carry: (request, signal) => client.carry(runId, request, signal),
          findHolder: (address, from, to) => findPeer?.(address, from, to) ?? null,
          refused: (message) => io.err(`gw run: refused: ${showText(message)}`),
          report: reports.report,
        },
        token,
        findPeer !== null,
      );
      const placeholder = run.placeholder ?? "";
      const env = proxyEnvironment(process.env, certificate, proxy.url, tools.variables, placeholder);
      const running = startCommand(command, { ...env, GW_RUN: runId, GW_HOME: home }, ports);
      const ended = running.ended.finally(async () => {
        proxy.close();
        rmSync(folder, { recursive: true, force: true });
        await reports.settled();
      });
      return { ...running, ended };
    },
  };
}
