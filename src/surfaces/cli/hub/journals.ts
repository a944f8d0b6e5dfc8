import type { KeyObject } from "node:crypto";
import type { HubConnection } from "../../../hub/connect.ts";
import { showIdentifier } from "../../../kernel/display.ts";
import { Denied } from "../../../kernel/failure.ts";
import type { JsonValue } from "../../../kernel/json.ts";
import type { Vault } from "../../../vault/vault.ts";
import { answering } from "../answer.ts";
import type { JournalName } from "../audit/filter.ts";
import { type JournalOptions, readJournal } from "../audit/journals.ts";
import type { CliDeps } from "../commands/deps.ts";
import { type Exit, exits } from "../io.ts";
import type { OperatorOptions } from "../options.ts";
import { withReader } from "../vault/session.ts";
import { withConnection } from "./hub-session.ts";
import { type HubLoginOptions, takeOperatorLogin } from "./login.ts";
import { atOneMoment, fetchOne } from "./logs.ts";
import { inFolder } from "./verify.ts";

type Options = OperatorOptions & Partial<JournalOptions> & HubLoginOptions & { readonly hub: string };

/** `gw activity --hub URL` and `gw sessions --hub URL`: what every gateway of this vault did, from its log on the hub, also where the host is gone. */
export function runHubJournal(journal: JournalName, options: Options, deps: CliDeps): Promise<Exit> {
  return answering(deps.io, async () => {
    if (options.follow === true || options.log !== undefined)
      throw new Denied("value_not_allowed", "--follow and --log are for the host itself, not for --hub.");
    // What was asked is read before anything is typed.
    readJournal(journal, { ...options, log: "" }, deps.io, followOf(deps));
    const login = await takeOperatorLogin(options, deps);
    using _wiped = login.password;
    return await withConnection(login, (connection) =>
      withReader(options, deps.io, deps.vault, async ({ home, operator }) =>
        showAll(connection, home.readVault(), operator.readingKey, journal, options, deps),
      ),
    );
  });
}

async function showAll(
  connection: HubConnection & { readonly hubId: string },
  vault: Vault,
  readingKey: KeyObject,
  journal: JournalName,
  options: Options,
  deps: CliDeps,
): Promise<Exit> {
  const { io } = deps;
  const records: JsonValue[] = [];
  let whole = true;
  await atOneMoment(connection, vault, async (logs) => {
    for (const one of logs) {
      const { gateway } = one.speaker;
      const shown = await inFolder(async (folder) => {
        const wrong = await fetchOne(connection, one, folder);
        if (wrong !== null) return { wrong, lines: [], exit: exits.denied };
        const lines: string[] = [];
        const kept = { ...io, out: (line: string) => void lines.push(line) };
        const exit = await readJournal(journal, { ...options, log: folder }, kept, followOf(deps))(readingKey);
        return { wrong, lines, exit };
      });
      whole &&= shown.exit === exits.done;
      if (shown.wrong !== null) io.err(`WARNING: ${showIdentifier(gateway)}: ${shown.wrong} (gw audit verify --hub)`);
      else if (options.json) records.push({ gateway, entries: JSON.parse(shown.lines.join("")) as JsonValue });
      else for (const line of [`on ${showIdentifier(gateway)}`, ...shown.lines]) io.out(line);
    }
  });
  if (options.json) io.out(JSON.stringify(records));
  return whole ? exits.done : exits.denied;
}

function followOf({ clock, sleep }: CliDeps) {
  return { wallMs: clock.wallMs, sleep: sleep.sleep };
}
