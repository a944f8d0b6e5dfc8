import { resolve } from "node:path";
import { Command, Help, type Option } from "commander";
import { commandWords as words } from "./command-words.ts";
import { addApprovalCommands } from "./commands/approvals.ts";
import { addAuditCommands } from "./commands/audit.ts";
import { addBackupCommands } from "./commands/backup.ts";
import { addCallCommand } from "./commands/call.ts";
import { addCallerCommands } from "./commands/caller.ts";
import { addConformanceCommand } from "./commands/conformance.ts";
import { addConsoleCommand } from "./commands/console.ts";
import { addCredentialCommands } from "./commands/credential.ts";
import { addDemoCommand } from "./commands/demo.ts";
import type { CliDeps } from "./commands/deps.ts";
import { addGatewayCommands } from "./commands/gateway.ts";
import { addGrantCommands } from "./commands/grant.ts";
import { addHubCommands } from "./commands/hub.ts";
import { addInstallCommands } from "./commands/install.ts";
import { addMcpCommands } from "./commands/mcp.ts";
import { addOperationCommands } from "./commands/operation.ts";
import { addPackCommands } from "./commands/pack.ts";
import { addPasskeyCommands } from "./commands/passkey.ts";
import { addPlanCommands } from "./commands/plan.ts";
import { addPolicyCommands } from "./commands/policy.ts";
import { addReferenceCommand } from "./commands/reference.ts";
import { addRunCommand } from "./commands/run.ts";
import { addShellCommand } from "./commands/shell.ts";
import { addSshCommands } from "./commands/ssh.ts";
import { addTicketCommands } from "./commands/ticket.ts";
import { addUpgradeCommands } from "./commands/upgrade.ts";
import { addVaultCommands } from "./commands/vault.ts";
import { addWatchCommand } from "./commands/watch.ts";
import { addWebhookCommands } from "./commands/webhook.ts";
import { addCompletionCommand } from "./completion.ts";
import { addManualCommand } from "./manual.ts";
import { addVersionCommand } from "./version.ts";

type Part = readonly [add: (program: Command, deps: CliDeps) => void, ...words: readonly string[]];

/** What adds commands, in the order of the help, each with the words that it adds; what tells of all commands has none. */
const parts: readonly Part[] = [
  [addVaultCommands, ...words.vault],
  [addCredentialCommands, ...words.credential],
  [addPolicyCommands, ...words.policy],
  [addPasskeyCommands, ...words.passkey],
  [addWebhookCommands, ...words.webhook],
  [addGrantCommands, ...words.grant],
  [addGatewayCommands, ...words.gateway],
  [addPackCommands, ...words.pack],
  [addCallerCommands, ...words.caller],
  [addApprovalCommands, ...words.approval],
  [addTicketCommands, ...words.ticket],
  [addWatchCommand, ...words.watch],
  [addConsoleCommand, ...words.console],
  [addCallCommand, ...words.call],
  [addPlanCommands, ...words.plan],
  [addOperationCommands, ...words.operation],
  [addRunCommand, ...words.run],
  [addMcpCommands, ...words.mcp],
  [addAuditCommands, ...words.audit],
  [addBackupCommands, ...words.backup],
  [addHubCommands, ...words.hub],
  [addSshCommands, ...words.ssh],
  [addUpgradeCommands, ...words.upgrade],
  [addReferenceCommand, ...words.reference],
  [addConformanceCommand, ...words.conformance],
  [addDemoCommand, ...words.demo],
  [addShellCommand, ...words.shell],
  [addInstallCommands, ...words.install],
  [addCompletionCommand],
  [addManualCommand],
  [addVersionCommand, ...words.version],
];

/**
 * The whole of `gw`, without anything of the machine: what it does is handed in. Given the word that was typed, the part that
 * knows it alone: to describe every command takes as long as a tenth of a short one's work.
 */
export function createProgram(deps: CliDeps, word?: string): Command {
  const program = new Command("gw")
    .description("Lets agents act on APIs and servers without a secret; a person approves, and the log proves it.")
    .version(deps.version)
    .option("--home <DIR>", "the home folder (else GW_HOME, /etc/gw/gw.yaml, ~/.gw)", (dir) => resolve(dir))
    .option("--config <FILE>", "the machine's configuration, instead of /etc/gw/gw.yaml", (file) => resolve(file))
    .option("--json", "print records for programs")
    // Beside the longest command 80 columns leave 38: a text that is broken there is read more easily than one that runs over the edge.
    .configureHelp({ showGlobalOptions: true, optionDescription: describeOption, minWidthToWrap: 30 })
    .configureOutput({ writeErr: (text) => deps.io.err(text.replace(/\n$/, "")) })
    // Before any command is added: each takes it over from here, and a mistake in any of them is a usage error.
    .exitOverride()
    .hook("preAction", async (all) => {
      const { home, config } = all.opts<{ readonly home?: string; readonly config?: string }>();
      const place = await deps.findPlace({ home, config });
      // Where it came from stays known: `gw demo` plays in a home that was named, and in no other.
      const source = all.getOptionValueSource("home") ?? "default";
      all.setOptionValue("place", place).setOptionValueWithSource("home", place.home, source);
    });
  const own = word === undefined ? [] : parts.filter(([, ...words]) => words.includes(word));
  for (const [add] of own.length > 0 ? own : parts) add(program, deps);
  pointToHelp(program, "gw");
  return program;
}

/** After a mistake, the very words that show how it is used. */
function pointToHelp(command: Command, words: string): void {
  command.showHelpAfterError(`See how it is used: ${words} --help`);
  for (const one of command.commands) pointToHelp(one, `${words} ${one.name()}`);
}

/** An option that stands for nothing when it is left out needs no default in the help; a list is shown as it is typed. */
function describeOption(option: Option): string {
  const given: unknown = option.defaultValue;
  const shown = Object.assign(Object.create(option) as Option, {
    defaultValue: given === false || (Array.isArray(given) && given.length === 0) ? undefined : given,
    ...(Array.isArray(given) ? { defaultValueDescription: given.join(",") } : {}),
  });
  return new Help().optionDescription(shown);
}
