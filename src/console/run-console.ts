import { defaults } from "../kernel/defaults.ts";
import { Denied } from "../kernel/failure.ts";
import { answering } from "../surfaces/cli/answer.ts";
import type { CliDeps } from "../surfaces/cli/commands/deps.ts";
import { isOnHub } from "../surfaces/cli/commands/hub.ts";
import { requireHub } from "../surfaces/cli/hub/hub-session.ts";
import { takeOperatorLogin } from "../surfaces/cli/hub/login.ts";
import { type Exit, exits } from "../surfaces/cli/io.ts";
import { withGateway } from "../surfaces/cli/operator/session.ts";
import type { ConsoleOptions } from "../surfaces/cli/options.ts";
import { withOperator } from "../surfaces/cli/vault/session.ts";
import type { Api } from "./api.ts";
import { createApi, createHubApi } from "./create-api.ts";
import { createGuard } from "./guard.ts";
import { createLogin } from "./login.ts";
import { readPage } from "./page-files.ts";
import { placeOf } from "./place.ts";
import { requireFree, type ServedAt, serveConsole } from "./serve.ts";

/** What the console needs beside what every command has. */
export interface ConsolePorts {
  /** Resolves when the person is done with it. */
  readonly stopped: Promise<void>;
  /** Brings an operator's copy of the home up to date; nothing where the home itself is at hand. */
  refresh(): Promise<void>;
}

/** `gw console`: the operator's own program, which holds their keys and serves one page to their browser. */
export function runConsole(options: ConsoleOptions, deps: CliDeps, ports: ConsolePorts): Promise<Exit> {
  return answering(deps.io, async () => {
    const place = placeOf(options, deps.clock.wallMs());
    await requireFree(place);
    if (isOnHub(options)) return await runHubConsole(place, options, deps, ports);
    return await withGateway(options, deps, (session) =>
      serve(place, options, deps, ports, async (signal) =>
        createApi(place, session, options, deps, ports.refresh, signal),
      ),
    );
  });
}

/** `gw console --hub URL`: the same page for all gateways of the vault. */
async function runHubConsole(
  place: ServedAt,
  options: ConsoleOptions & { readonly hub: string },
  deps: CliDeps,
  ports: ConsolePorts,
): Promise<Exit> {
  if (options.enrol === true)
    throw new Denied("value_not_allowed", "A passkey is enrolled at gw console on a host of the vault, without --hub.");
  const login = await takeOperatorLogin(options, deps);
  using _wiped = login.password;
  await requireHub(login);
  return await withOperator(options, deps.io, deps.vault, (session) =>
    serve(place, options, deps, ports, (signal) => createHubApi(place, session, login, options, deps, signal)),
  );
}

async function serve(
  place: ServedAt,
  options: ConsoleOptions,
  { clock, random, io }: CliDeps,
  ports: ConsolePorts,
  connect: (signal: AbortSignal) => Promise<Api>,
): Promise<Exit> {
  const stop = new AbortController();
  const remote = place.tls !== null;
  try {
    const api = await connect(stop.signal);
    const isEnrolled = (id: string): boolean => api.ownHere().some(({ credentialId }) => credentialId === id);
    const minutes = defaults.consoleTokenMs / 60_000;
    const sayAnother = (what: string): void =>
      io.out(`${what} For another one, once, within ${minutes} minutes:\n  ${link()}`);
    const onNoneLeft = (): void => sayAnother("A link was opened that is used or too old.");
    const guard = createGuard({ clock, random, remote, isEnrolled, onNoneLeft });
    const login = remote
      ? createLogin({ clock, random, origin: place.origin, passkeys: () => api.turn.seen(api.ownHere) })
      : null;
    const link = (): string => `${place.origin}/#${guard.newToken()}`;
    const onEntered = (): void => {
      if (remote) io.out("A page was opened with the link, to enrol a passkey.");
      else sayAnother("A page was opened.");
    };
    const served = await serveConsole(place, await readPage(), { guard, login, onEntered }, api);
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
}
