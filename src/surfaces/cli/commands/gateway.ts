import { join } from "node:path";
import type { Command } from "commander";
import { showIdentifier } from "../../../kernel/display.ts";
import type { JsonObject } from "../../../kernel/json.ts";
import { readStatus } from "../../client/operator.ts";
import { answering } from "../answer.ts";
import { runDoctor } from "../doctor.ts";
import { exits } from "../io.ts";
import { withGateway } from "../operator/session.ts";
import { addCommand, addOperatorCommand, type CliDeps, type OperatorOptions, optionsOf } from "./deps.ts";

export function addGatewayCommands(program: Command, deps: CliDeps): void {
  const { io, finish } = deps;
  addOperatorCommand(program, "up", "run the gateway in the foreground", "gw up")
    .option("--key-file <FILE>", "unlock with a service key file, where signed policy allows it")
    .option("--locked", "start without unlocking", false)
    .action(async (_options, command: Command) => {
      const options = optionsOf<OperatorOptions & { readonly keyFile?: string; readonly locked: boolean }>(command);
      finish(
        await answering(io, async () => {
          const gateway = await deps.startGateway(options.home, options.keyFile ?? null);
          if (!options.locked && options.keyFile === undefined) {
            try {
              await withGateway(options, deps, async ({ client }) => {
                await client.unlock();
                return exits.done;
              });
            } catch (error) {
              gateway.stop();
              await gateway.stopped;
              throw error;
            }
          }
          for (const line of statusLines(await readStatus(operatorSocket(options.home)))) io.out(line);
          io.out("Approve with: gw watch   Stop with: Ctrl-C");
          return (await gateway.stopped) === 0 ? exits.done : exits.denied;
        }),
      );
    });
  addCommand(program, "status", "what is running and in which mode", "gw status --json").action(
    async (_options, command: Command) => {
      const { home, json } = optionsOf(command);
      finish(
        await answering(io, async () => {
          const status = await readStatus(operatorSocket(home));
          if (json) io.out(JSON.stringify(status, null, 2));
          else for (const line of statusLines(status)) io.out(line);
          return status["locked"] === true ? exits.locked : exits.done;
        }),
      );
    },
  );
  addOperatorCommand(program, "unlock", "hand the gateway its service key", "gw unlock").action(
    async (_options, command: Command) => {
      const options = optionsOf<OperatorOptions>(command);
      finish(
        await answering(io, () =>
          withGateway(options, deps, async ({ client }) => {
            const status = await client.unlock();
            if (options.json) io.out(JSON.stringify(status, null, 2));
            else io.out("Unlocked.");
            return exits.done;
          }),
        ),
      );
    },
  );
  addOperatorCommand(program, "lock", "end all sessions and forget the service key", "gw lock --reason lunch")
    .option("--reason <TEXT>", "why, for the log", "locked by an operator")
    .action(async (_options, command: Command) => {
      const options = optionsOf<OperatorOptions & { readonly reason: string }>(command);
      finish(
        await answering(io, () =>
          withGateway(options, deps, async ({ client }) => {
            const status = await client.lock(options.reason);
            if (options.json) io.out(JSON.stringify(status, null, 2));
            else io.out("Locked: every session has ended and open questions were withdrawn.");
            return exits.done;
          }),
        ),
      );
    });
  addCommand(program, "doctor", "what is missing on this machine, and the command that mends it", "gw doctor").action(
    async (_options, command: Command) => {
      const { home, json } = optionsOf(command);
      finish(await runDoctor(deps.examine(home), { json }, io));
    },
  );
}

export function operatorSocket(home: string): string {
  return join(home, "operator.sock");
}

export function statusLines(status: JsonObject): readonly string[] {
  const text = (name: string): string => showIdentifier(String(status[name] ?? ""));
  const lowered = Array.isArray(status["lowered"]) ? status["lowered"] : [];
  const trouble = status["trouble"];
  const mode =
    status["mode"] === "dedicated"
      ? "dedicated: it runs as its own user"
      : "guard-rail: programs of this user are stopped from mistakes, not from malware";
  return [
    `gw ${text("version")}, process ${text("pid")}, home ${text("home")}`,
    `  ${status["locked"] === true ? "LOCKED (gw unlock)" : "unlocked"}`,
    `  mode      ${mode}`,
    `  packs     ${Array.isArray(status["packs"]) && status["packs"].length > 0 ? status["packs"].map(String).map(showIdentifier).join(", ") : "none trusted (gw pack add FILE, gw pack trust NAME)"}`,
    `  waiting   ${text("approvals_pending")} approvals, ${text("sessions_live")} live sessions`,
    ...(lowered.length === 0
      ? []
      : [`  LOWERED   ${lowered.map(String).map(showIdentifier).join(", ")} (signed policy)`]),
    ...(status["stopped"] === null
      ? []
      : [`  STOPPED   it can no longer record and sends nothing: ${text("stopped")}`]),
    ...(trouble === null || typeof trouble !== "object" || Array.isArray(trouble)
      ? []
      : [
          `  TROUBLE   ${showIdentifier(String((trouble as JsonObject)["code"]))}: ${showIdentifier(String((trouble as JsonObject)["message"]))}`,
        ]),
  ];
}
