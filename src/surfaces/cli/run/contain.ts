import { realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { createAuthority } from "../../../conventions/box/authority.ts";
import { writeJavaTruststore } from "../../../conventions/box/java-truststore.ts";
import { type BoxPlan, type BoxTier, portsOf } from "../../../conventions/box/plan.ts";
import type { Clock, Random } from "../../../kernel/clock.ts";
import { showText } from "../../../kernel/display.ts";
import { Denied } from "../../../kernel/failure.ts";
import type { ActionView, RunView } from "../../agent/answers.ts";
import { boxEnvironment } from "../../box/environment.ts";
import type { BoxPort, OpenBox } from "../../box/port.ts";
import { relayAgent } from "../../box/relay-agent.ts";
import { reportRefusals } from "../../box/report-refusals.ts";
import { serveNames } from "../../box/serve-names.ts";
import { serveBoxProxy } from "../../box/serve-proxy.ts";
import { serveRequests, type WayOut } from "../../box/serve-requests.ts";
import type { AgentClient } from "../../client/agent.ts";
import type { Door } from "../../place/place.ts";
import type { CliIo } from "../io.ts";
import { openNotebook } from "../learn/notebook.ts";
import { type CommandPorts, type RunningCommand, startCommand } from "./start-command.ts";

/** Folders in which programs of this user leave what others find, above all sockets. */
const COVERED = ["/tmp", "/run", "/var/tmp"];

/** A box that is known to be possible, for one command. */
export interface Containment {
  /** Null where there is none: a proxy contains nothing. */
  readonly tier: BoxTier | null;
  /** Starts the command in its box; resolves once everything is in place and it begins. */
  start(run: RunView): Promise<RunningCommand>;
}

export interface ContainPorts extends CommandPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly box: BoxPort | null;
  /** Which process below this one holds a connection from this address and port to that port; null where the system does not tell. */
  readonly findPeer: OpenBox["findHolder"] | null;
}

/** Everything that can be found out before a person is asked. */
export async function prepareContainment(
  command: readonly string[],
  asked: { readonly home: string; readonly write?: readonly string[]; readonly learn?: string },
  agent: { readonly client: AgentClient; readonly door: Door },
  io: CliIo,
  ports: ContainPorts,
): Promise<Containment> {
  const { box } = ports;
  if (box === null)
    throw new Denied("contain_unavailable", "no box can be built here: only Linux has the namespaces for one.");
  const authority = createAuthority(ports.clock, ports.random);
  const folder = realpathSync(process.cwd());
  const hide = [asked.home, ...box.ownFolders].filter(isFolder).map((path) => realpathSync(path));
  const write = (asked.write ?? []).map(folderAt);
  for (const path of [folder, ...write]) requireWritable(path, hide);
  if (folder === realpathSync(homedir())) {
    io.err(
      "gw run: the working folder is your home: what the command writes there, such as .bashrc, runs outside later.",
    );
  }
  const plan = (tier: BoxTier, origins: readonly string[], env: BoxPlan["env"]): BoxPlan => ({
    tier,
    folder,
    write,
    read: box.programFolders,
    cover: COVERED,
    hide,
    ports: portsOf(origins),
    sockets: box.outerSockets([folder, ...write, join(homedir(), ".ssh")]),
    certificate: authority.certificate,
    subjectHash: authority.subjectHash,
    truststore: writeJavaTruststore(authority.certificate, ports.clock.wallMs()).toString("base64"),
    command,
    env,
  });
  const { tier } = await box.choose(plan("transparent", [], {}));
  const notebook = asked.learn === undefined ? null : openNotebook(asked.learn);
  const tools = toolsOf(await agent.client.actions());
  return {
    tier,
    async start({ run_id: runId, ...run }) {
      const env = boxEnvironment(tier, process.env, runId, tools.variables, run.placeholder ?? "");
      const begin = async (): Promise<{ readonly running: RunningCommand; readonly open: OpenBox }> => {
        let open: OpenBox | null = null;
        const planned = plan(tier, tools.origins, env);
        const running = startCommand(box.command(planned), { PATH: "/usr/bin:/bin" }, ports, {
          signal: (signal) => open?.signal(signal),
        });
        try {
          open = await box.open(running.child, planned, () => "");
        } catch (error) {
          await running.ended;
          throw error;
        }
        return { running, open };
      };
      // Bubblewrap ends where a socket that it is to cover has gone meanwhile: what there is now is listed anew, once.
      const { running, open } = await begin().catch((error: unknown) => {
        if (tier !== "bubblewrap") throw error;
        return begin();
      });
      for (const socket of open.sockets.dns) serveNames(socket);
      relayAgent(open.sockets.agent, agent.door);
      const { findHolder } = open;
      const reports = reportRefusals((report) => agent.client.reportRefused(runId, report));
      const out: WayOut = {
        authority,
        findHolder,
        async carry(request, signal) {
          const answer = await agent.client.carry(runId, request, signal);
          if (request.large === undefined) notebook?.note(request, answer);
          return answer;
        },
        refused: (message) => io.err(`gw run: refused: ${showText(message)}`),
        report: reports.report,
      };
      serveRequests(open.sockets, out);
      serveBoxProxy(open.sockets.proxy, out);
      const { sockets } = open;
      const close = (): void => {
        for (const socket of Object.values(sockets).flat()) socket.close();
      };
      open.go();
      const ended = running.ended.finally(close).then(async (done) => {
        await reports.settled();
        for (const line of (await notebook?.write()) ?? []) io.err(line);
        return done;
      });
      return { ...running, ended };
    },
  };
}

/** Where the actions of trusted packs lead, and the variables in which tools look for a token for that. */
export function toolsOf(actions: readonly ActionView[]): {
  readonly origins: readonly string[];
  readonly variables: readonly string[];
} {
  return {
    origins: [...new Set(actions.flatMap(({ origin }) => origin ?? []))],
    variables: [...new Set(actions.flatMap(({ token_variables }) => token_variables ?? []))],
  };
}

function folderAt(path: string): string {
  const real = isFolder(path) ? realpathSync(path) : null;
  if (real === null) throw new Denied("file_unreadable", `--write names folders, and "${showText(path)}" is none.`);
  return real;
}

function requireWritable(path: string, hidden: readonly string[]): void {
  const inside = hidden.find((one) => path === one || path.startsWith(`${one}/`));
  if (path !== "/" && inside === undefined) return;
  const why = inside === undefined ? "then everything would be" : `${inside} is kept from the box`;
  throw new Denied(
    "contain_unavailable",
    `${path} cannot be writable in a box: ${why}. Start it in the folder of the work.`,
  );
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
