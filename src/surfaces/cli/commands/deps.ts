import type { Command } from "commander";
import type { ReferenceCliPorts } from "../../../../packages/reference/src/command.ts";
import type { OperatorKey } from "../../../conventions/approval/decision.ts";
import type { Clock, Random, Sleep } from "../../../kernel/clock.ts";
import type { Denied } from "../../../kernel/failure.ts";
import type { Secret } from "../../../kernel/secret.ts";
import type { VaultHome } from "../../../vault/files/home.ts";
import type { ServerCheck } from "../../client/hand-over.ts";
import type { PlaceAsked } from "../../place/find.ts";
import type { Place } from "../../place/place.ts";
import type { HomeKeeper } from "../backup/home-keeper.ts";
import type { SignatureChecks } from "../caller/signatures.ts";
import type { Examine } from "../doctor.ts";
import type { CliIo, Exit } from "../io.ts";
import type { BaseOptions, ConsoleOptions } from "../options.ts";
import type { WrapperPorts } from "../run/run.ts";
import type { MintedKeeper } from "../vault/minted.ts";
import type { VaultCliPorts } from "../vault/session.ts";

/** What the command line needs of the machine. The program fills it in; tests bring their own. */
export interface CliDeps {
  readonly io: CliIo;
  readonly clock: Clock;
  readonly random: Random;
  readonly sleep: Sleep;
  readonly version: string;
  readonly vault: VaultCliPorts;
  /** Finds the gateway that a command is about. */
  findPlace(asked: PlaceAsked): Promise<Place>;
  examine(home: string): Examine;
  /** The format of the state that this program knows, and the one that a home has; of no home where it is null. */
  formats(home: string | null): Promise<Formats>;
  /** Throws what would refuse a start of the gateway, as far as it is seen without one. */
  requireStartable(home: string, config?: string): Promise<void>;
  /** Starts the gateway process for a home and resolves when it is ready. */
  startGateway(home: string, keyFile: string | null, config?: string): Promise<GatewayProcess>;
  /** How the gateway at the socket is proven before it is handed the service key. */
  serverCheck(
    home: VaultHome,
    serviceKey: Secret,
    how: { readonly child: number | null; readonly first: boolean },
  ): Promise<ServerCheck>;
  /** The public keys of this home's operators, which decide whose signatures count. */
  operatorKeys(home: string): Promise<readonly OperatorKey[]>;
  /** The reference provider, which the command line may start but not import. */
  reference(): Promise<ReferenceCliPorts>;
  /** Refuses a command that writes to the home itself where only a copy of it is at hand. */
  requireHome(what: string): void;
  /** What the gateway keeps of secrets that answers brought, for an operator's own key. */
  mintedKeeper(): Promise<MintedKeeper>;
  /** The state and the log's writer, for backups and restorations. */
  homeKeeper(): Promise<HomeKeeper>;
  /** What this machine can say of signature files that are to be trusted. */
  signatures(): Promise<SignatureChecks>;
  /** The demo, which the command line may start but not import. A home of null is a throw-away one. */
  playDemo(options: { readonly home: string | null; readonly json: boolean }): Promise<Exit>;
  /** The console, which the command line may start but not import. */
  serveConsole(options: ConsoleOptions): Promise<Exit>;
  /** What `gw run` needs to hold a command and what that starts. */
  wrapper(): Promise<WrapperPorts>;
  /** Takes the exit of the command that ran; a wrapped command has its own. */
  finish(exit: Exit | number): void;
}

/** What the program knows of the state's format, and what it found: undefined is none yet, null one it does not know. */
export interface Formats {
  readonly known: number;
  /** `unmarked`: there is a state, and nothing that says of which format, as version 0.1 left it. */
  readonly found: number | "unmarked" | null | undefined;
}

export interface GatewayProcess {
  readonly pid: number;
  /** What to say of its end, once it has stopped: nothing where it stopped in order. */
  readonly stopped: Promise<Denied | null>;
  stop(): void;
}

/** A command with the options that all share. */
export function addCommand(parent: Command, usage: string, description: string, example: string): Command {
  return parent
    .command(usage)
    .description(description)
    .addHelpText("after", `\nExample:\n  ${example.split("\n").join("\n  ")}`);
}

/** A command that an operator must unlock. `who` says whom `--operator` names. */
export function addOperatorCommand(
  parent: Command,
  usage: string,
  description: string,
  example: string,
  who = "which operator; needed when there are several",
): Command {
  return addCommand(parent, usage, description, example)
    .option("--operator <NAME>", who)
    .option("--passphrase-file <FILE>", "read the passphrase from a private file, for scripts");
}

export function optionsOf<Options extends BaseOptions>(command: Command): Options {
  const { json, ...rest } = command.optsWithGlobals<{ readonly json?: boolean; readonly home: string }>();
  return { ...rest, json: json === true } as unknown as Options;
}
