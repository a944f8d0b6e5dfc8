import type { Command } from "commander";
import type { UpOptions } from "../operator/run-gateway.ts";
import type { BaseOptions, OperatorOptions } from "../options.ts";
import { addCommand, addOperatorCommand, type CliDeps, optionsOf } from "./deps.ts";
import { addHubOption, type HubOption, isOnHub, many } from "./hub.ts";

type UnlockOptions = OperatorOptions & {
  readonly first?: boolean;
  readonly writeKeyFile?: string;
  readonly all?: boolean;
};

export function addGatewayCommands(program: Command, deps: CliDeps): void {
  const { finish } = deps;
  const load = () => import("../operator/run-gateway.ts");
  addOperatorCommand(program, "up", "run the gateway in the foreground", "gw up")
    .option("--key-file <FILE>", "unlock with a service key file, where signed policy allows it")
    .option("--locked", "start without unlocking", false)
    .action(async (_options, command: Command) =>
      finish(await (await load()).runUp(optionsOf<UpOptions>(command), deps)),
    );
  addHubOption(
    addCommand(
      program,
      "status",
      "what is running and in which mode",
      "gw status --json\ngw status --hub postgres://ada@db.example/gw",
    ),
  ).action(async (_options, command: Command) => {
    const options = optionsOf<BaseOptions & HubOption>(command);
    if (isOnHub(options)) finish(await (await import("../hub/status.ts")).runHubStatus(options, deps));
    else finish(await (await load()).runStatus(options, deps));
  });
  addCommand(program, "metrics", "numbers about the gateway, in Prometheus text", "gw metrics").action(
    async (_options, command: Command) => finish(await (await load()).runMetrics(optionsOf(command), deps)),
  );
  addHubOption(
    addOperatorCommand(
      program,
      "unlock [NAME...]",
      "hand the gateway its service key; with --hub, gateways elsewhere that wait",
      "gw unlock\ngw unlock web1 web2 --hub postgres://ada@db.example/gw",
    ),
    "--all",
    "--despite",
  )
    .option("--all", "with --hub: all gateways of this vault that wait to be unlocked")
    .option("--despite <GATEWAY>", "with --hub: do not believe this one which files it follows (repeatable)", many)
    .option("--first", "it was just started by yourself and never unlocked, so it cannot prove itself yet")
    .option("--write-key-file <FILE>", "write a key file for a machine without a person instead")
    .action(async (names: readonly string[], _options, command: Command) => {
      const options = optionsOf<UnlockOptions & HubOption>(command);
      if (isOnHub(options)) finish(await (await import("../hub/unlock.ts")).runHubUnlock(names, options, deps));
      else if (names.length > 0) command.error("error: a gateway is named only with --hub URL, and that is missing");
      else if (options.writeKeyFile === undefined) finish(await (await load()).runUnlock(options, deps));
      else {
        const { runWriteKeyFile } = await import("../vault/key-file.ts");
        finish(await runWriteKeyFile(options.writeKeyFile, options, deps.io, deps.vault));
      }
    });
  addOperatorCommand(program, "lock", "end all sessions and forget the service key", "gw lock --reason lunch")
    .option("--reason <TEXT>", "why, for the log", "locked by an operator")
    .action(async (_options, command: Command) => {
      const options = optionsOf<OperatorOptions & { readonly reason: string }>(command);
      finish(await (await load()).runLock(options, deps));
    });
  addOperatorCommand(
    program,
    "login",
    "keep your keys open for a while: reading asks nothing then, a decision asks your PIN",
    "gw login --for 2h",
  )
    .option("--for <TIME>", "how long: 90s, 15m, 2h; 15m without it")
    .action(async (_options, command: Command) => {
      const { runLogin } = await import("../operator/login.ts");
      finish(await runLogin(optionsOf<OperatorOptions & { readonly for?: string }>(command), deps.io, deps.vault));
    });
  addOperatorCommand(
    program,
    "passphrase-prompt",
    "gw login, asked for in the dialog of your desktop (pinentry) where there is one",
    "gw passphrase-prompt --for 15m",
  )
    .option("--for <TIME>", "how long the keys stay: 15m, 2h")
    .action(async (_options, command: Command) => {
      const [{ runLogin }, { askPinentry, hasPinentry, PINENTRY }] = await Promise.all([
        import("../operator/login.ts"),
        import("../pinentry.ts"),
      ]);
      const { io } = deps;
      const askSecret = (prompt: string) => askPinentry(PINENTRY, prompt, process.env);
      const asking = hasPinentry(PINENTRY) ? { ...io, askSecret } : io;
      finish(await runLogin(optionsOf<OperatorOptions & { readonly for?: string }>(command), asking, deps.vault));
    });
  addCommand(program, "logout", "end gw login now", "gw logout").action(async (_options, command: Command) => {
    const { runLogout } = await import("../operator/login.ts");
    finish(await runLogout(optionsOf(command), deps.io, deps.vault));
  });
  addOperatorCommand(program, "resume", "go on after a stop that has passed", "gw resume").action(
    async (_options, command: Command) => finish(await (await load()).runResume(optionsOf(command), deps)),
  );
  addCommand(program, "doctor", "what is missing on this machine, and the command that mends it", "gw doctor").action(
    async (_options, command: Command) => {
      const { home, json } = optionsOf(command);
      const { runDoctor } = await import("../doctor.ts");
      finish(await runDoctor(deps.examine(home), { json }, deps.io));
    },
  );
}
