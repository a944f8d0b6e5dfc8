import type { Command } from "commander";
import { Denied } from "../../../kernel/failure.ts";
import { answering } from "../answer.ts";
import { addCommand, type BaseOptions, type CliDeps, optionsOf } from "./deps.ts";

interface Options extends BaseOptions {
  readonly credential: string;
  readonly user?: string;
  readonly node?: string;
  readonly receiver?: string;
  readonly manifest?: string;
  readonly from?: readonly string[];
  readonly expires?: string;
}

export function addSshCommands(program: Command, { io, finish, vault }: CliDeps): void {
  const ssh = program.command("ssh").description("hosts that do one thing for one key");
  const many = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];
  addCommand(
    ssh,
    "keyline <HOST>",
    "the authorized_keys line for a host, and the settings it does not cover",
    "gw ssh keyline app-1.acme.example --credential acme-ssh",
  )
    .requiredOption("--credential <LABEL>", "the SSH credential whose public half goes there")
    .option("--user <NAME>", "the account on the host")
    .option("--node <PATH>", "Node on the host")
    .option("--receiver <PATH>", "gw-receiver on the host")
    .option("--manifest <PATH>", "the receiver's manifest on the host")
    .option("--from <ADDRESS>", "addresses that may connect (repeatable)", many)
    .option("--expires <TIME>", "when the line stops working")
    .action(async (host: string, _options, command: Command) => {
      const { credential, ...options } = optionsOf<Options>(command);
      finish(
        await answering(io, async () => {
          const [{ printKeyline }, { openHome }, { summariesOf }] = await Promise.all([
            import("../ssh.ts"),
            import("../../../vault/files/home.ts"),
            import("../../../vault/lend.ts"),
          ]);
          const found = summariesOf(openHome(options.home, vault.random).readVault()).find(
            ({ label }) => label === credential,
          );
          if (found?.publicKey == null)
            throw new Denied(
              "credential_unknown",
              `${credential} is no SSH credential of this vault: gw credential list.`,
            );
          return printKeyline({ ...options, host, label: credential, publicKey: found.publicKey }, io);
        }),
      );
    });
}
