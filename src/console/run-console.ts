import { defaults } from "../kernel/defaults.ts";
import { answering } from "../surfaces/cli/answer.ts";
import type { CliDeps } from "../surfaces/cli/commands/deps.ts";
import { type Exit, exits } from "../surfaces/cli/io.ts";
import { withGateway } from "../surfaces/cli/operator/session.ts";
import type { ConsoleOptions } from "../surfaces/cli/options.ts";
import { createApi } from "./create-api.ts";
import { createGuard } from "./guard.ts";
import { createLogin } from "./login.ts";
import { readPage } from "./page-files.ts";
import { placeOf } from "./place.ts";
import { serveConsole } from "./serve.ts";

/** What the console needs beside what every command has. */
export interface ConsolePorts {
  /** Resolves when the person is done with it. */
  readonly stopped: Promise<void>;
  /** Brings an operator's copy of the home up to date; nothing where the home itself is at hand. */
  refresh(): Promise<void>;
}

/** `gw console`: the operator's own program, which holds their keys and serves one page to their browser. */
export function runConsole(options: ConsoleOptions, deps: CliDeps, ports: ConsolePorts): Promise<Exit> {
  return answering(deps.io, () => {
    const place = placeOf(options);
    return withGateway(options, deps, async (session) => {
      const stop = new AbortController();
      const { clock, random, io } = deps;
      const remote = place.tls !== null;
      const api = createApi(place, session, options, deps, ports.refresh, stop.signal);
      const isEnrolled = (id: string): boolean => api.ownHere().some(({ credentialId }) => credentialId === id);
      const guard = createGuard({ clock, random, remote, isEnrolled });
      const login = remote
        ? createLogin({ clock, random, origin: place.origin, passkeys: () => api.turn.seen(api.ownHere) })
        : null;
      const link = (): string => `${place.origin}/#${guard.newToken()}`;
      const onEntered = (): void => {
        if (remote) io.out("A page was opened with the link, to enrol a passkey.");
        else io.out(`A page was opened. For another one: ${link()}`);
      };
      try {
        const served = await serveConsole(place, await readPage(), { guard, login, onEntered }, api);
        const minutes = defaults.consoleTokenMs / 60_000;
        if (remote) io.out(`Open this and log in with your passkey:\n  ${place.origin}/`);
        else io.out(`Open this in a browser on this machine, once, within ${minutes} minutes:\n  ${link()}`);
        if (options.enrol === true)
          io.out(`To enrol a passkey there, open this once, within ${minutes} minutes:\n  ${link()}`);
        io.out("Ctrl-C ends the console; what waits goes on waiting.");
        await ports.stopped;
        served.close();
      } finally {
        stop.abort();
      }
      return exits.done;
    });
  });
}
