import type { Command } from "commander";
import { Denied } from "../../../kernel/failure.ts";
import type { CredentialSummary } from "../../../vault/lend.ts";
import { answering } from "../answer.ts";
import type { BaseOptions, OperatorOptions } from "../options.ts";
import { addCommand, addOperatorCommand, type CliDeps, optionsOf } from "./deps.ts";

interface KeylineChoices extends BaseOptions {
  readonly credential: string;
  readonly user?: string;
  readonly node?: string;
  readonly receiver?: string;
  readonly manifest?: string;
  readonly from?: readonly string[];
  readonly expires?: string;
}

interface CheckChoices extends OperatorOptions {
  readonly credential: string;
  readonly hostKey?: string;
  readonly user?: string;
  readonly port: number;
}

export function addSshCommands(program: Command, deps: CliDeps): void {
  const { io, finish } = deps;
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
      const { credential: label, ...options } = optionsOf<KeylineChoices>(command);
      finish(
        await answering(io, async () => {
          const { publicKey } = await findSshCredential(label, options.home, deps);
          return (await import("../ssh.ts")).printKeyline({ ...options, host, label, publicKey }, io);
        }),
      );
    });
  addOperatorCommand(
    ssh,
    "check <HOST>",
    "have the gateway try, with the real key, everything that the host must refuse",
    "gw ssh check app-1.acme.example --credential acme-ssh",
  )
    .requiredOption("--credential <LABEL>", "the SSH credential to try")
    .option("--host-key <LINE>", "the pinned host key; needed when the credential is bound to several")
    .option("--user <NAME>", "the account on the host")
    .option("--port <N>", "the port of its SSH server", Number, 22)
    .action(async (host: string, _options, command: Command) => {
      const options = optionsOf<CheckChoices>(command);
      finish(await answering(io, () => check(host, options, deps)));
    });
}

async function check(host: string, options: CheckChoices, deps: CliDeps) {
  const { credential, port } = options;
  const found = await findSshCredential(credential, options.home, deps);
  const hostKey = options.hostKey ?? (found.boundTo.length === 1 ? found.boundTo[0] : undefined);
  if (hostKey === undefined)
    throw new Denied("credential_not_bound", `${credential} is bound to several host keys: say which with --host-key.`);
  const [{ checkHost }, { withGateway }, { keylineDefaults }] = await Promise.all([
    import("../ssh.ts"),
    import("../operator/session.ts"),
    import("../../../conventions/ssh/keyline.ts"),
  ]);
  const target = { host, port, user: options.user ?? keylineDefaults.user, hostKey, credential };
  return withGateway(options, deps, ({ client }) =>
    checkHost({ host, json: options.json, probe: () => client.checkHost(target) }, deps.io),
  );
}

async function findSshCredential(
  label: string,
  home: string,
  { vault }: CliDeps,
): Promise<CredentialSummary & { readonly publicKey: string }> {
  const [{ openHome }, { summariesOf }] = await Promise.all([
    import("../../../vault/files/home.ts"),
    import("../../../vault/lend.ts"),
  ]);
  const found = summariesOf(openHome(home, vault.random).readVault()).find((one) => one.label === label);
  if (found?.publicKey == null)
    throw new Denied("credential_unknown", `${label} is no SSH credential of this vault: gw credential list.`);
  return { ...found, publicKey: found.publicKey };
}
