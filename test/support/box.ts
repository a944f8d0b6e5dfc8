import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { asUser, type Exited, GW, type Home, type Members, type Started, start, within } from "./home.ts";
import { idOf } from "./reply.ts";

/** A contained run of the real `gw`, in a working folder of its own. */
export function startContained(
  home: Home,
  command: readonly string[],
  options: {
    readonly extra?: readonly string[];
    readonly folder?: string;
    readonly env?: NodeJS.ProcessEnv;
    /** What starts it instead of this test. */
    readonly under?: readonly string[];
    /** Of a shell, such as a redirection. */
    readonly streams?: string;
  } = {},
): Started {
  const folder = options.folder ?? `${home.folder}-work`;
  mkdirSync(folder, { recursive: true });
  const gw = [GW, "--home", home.folder, "run", "--contain", ...(options.extra ?? []), "--", ...command];
  const shell = `cd "$0" && exec "$@" ${options.streams ?? ""}`;
  return start(["/bin/sh", "-c", shell, folder, ...(options.under ?? []), ...gw], {
    env: { ...home.environment(), ...options.env },
  });
}

/** Approves the question of a run that was just started, and gives its card as text. */
export async function approveRun(home: Home, run: Started): Promise<string> {
  const [question] = await Promise.race([
    home.approvals(),
    run.exited.then(({ err, out }): readonly Members[] =>
      assert.fail(`it ended before anybody was asked: ${err}${out}`),
    ),
  ]);
  await home.approve(idOf(question, "approval_id"));
  return JSON.stringify(question);
}

/** The whole way: started, approved, ended. */
export async function contained(
  home: Home,
  script: string,
  options: Parameters<typeof startContained>[2] = {},
): Promise<Exited> {
  const run = startContained(home, ["sh", "-c", script], options);
  await approveRun(home, run);
  return within(run.exited, 120_000, "the contained run ends");
}

export function workOf(home: Home): string {
  return join(`${home.folder}-work`);
}

/** Starts a command where whoever makes namespaces has no rights in them, but for bubblewrap. */
export const deniedRights: readonly string[] = [
  process.execPath,
  "--disable-warning=ExperimentalWarning",
  join(import.meta.dirname, "..", "fixtures", "deny-loopback.ts"),
];

export function lacksBubblewrap(): { readonly skip?: string } {
  if ("skip" in asUser) return asUser;
  return spawnSync("bwrap", ["--version"]).status === 0 ? {} : { skip: "bubblewrap is not installed" };
}
