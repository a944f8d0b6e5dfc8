import type { Command } from "commander";
import { Denied } from "../../../kernel/failure.ts";
import type { CredentialSummary } from "../../../vault/summary.ts";
import { answering } from "../answer.ts";
import type { BaseOptions, OperatorOptions } from "../options.ts";
import { whole } from "./budget-options.ts";
import { addCommand, addOperatorCommand, type CliDeps, optionsOf } from "./deps.ts";

interface KeylineChoices extends BaseOptions {
  readonly credential: string;
  readonly hostKey?: string;
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
    .option("--host-key <LINE>", "the pinned host key; needed when the credential is bound to several")
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
          const { publicKey, gatewayKey, ...found } = await findSshCredential(label, options.home, deps);
          if (gatewayKey === null) {
            const message = "This vault is older than the gateway's own key. Draw one: gw ssh new-key.";
            throw new Denied("request_key_missing", message);
          }
          const hostKey = chooseHostKey(found, options.hostKey);
          const keys = { publicKey, gatewayKey, hostKey, boundTo: found.boundTo.length };
          return (await import("../ssh.ts")).printKeyline({ ...options, host, label, ...keys }, io);
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
    .option("--port <N>", "the port of its SSH server", whole(1, 65_535), 22)
    .action(async (host: string, _options, command: Command) => {
      const options = optionsOf<CheckChoices>(command);
      finish(await answering(io, () => check(host, options, deps)));
    });
  addOperatorCommand(
    ssh,
    "new-key",
    "replace the gateway's own key, which signs requests to hosts that pin it",
    "gw ssh new-key",
  ).action(async (_options, command: Command) => {
    const { runNewRequestKey } = await import("../vault/request-key.ts");
    finish(await runNewRequestKey(optionsOf<OperatorOptions>(command), io, deps.vault));
  });
}

async function check(host: string, options: CheckChoices, deps: CliDeps) {
  const { credential, port } = options;
  const found = await findSshCredential(credential, options.home, deps);
  const hostKey = chooseHostKey(found, options.hostKey);
  const [{ checkHost }, { withGateway }, { keylineDefaults }] = await Promise.all([
    import("../ssh.ts"),
    import("../operator/session.ts"),
    import("../../../conventions/ssh/keyline.ts"),
  ]);
  const target = { host, port, user: options.user ?? keylineDefaults.user, hostKey, credential };
  return withGateway(options, deps, ({ client }) =>
    checkHost({ host, credential, json: options.json, probe: () => client.checkHost(target) }, deps.io),
  );
}

/** The line of the binding itself, so that what is printed and tried is what the vault will lend for. */
function chooseHostKey({ label, boundTo }: Pick<CredentialSummary, "label" | "boundTo">, asked?: string): string {
  const [type, base64] = (asked ?? "").trim().split(" ");
  const wanted = boundTo.filter((line) => asked === undefined || line === `${type} ${base64}`);
  const [hostKey] = wanted;
  if (hostKey === undefined)
    throw new Denied("credential_not_bound", `${label} is not bound to that host key: gw credential list.`);
  if (wanted.length > 1)
    throw new Denied("credential_not_bound", `${label} is bound to several host keys: say which with --host-key.`);
  return hostKey;
}

async function findSshCredential(
  label: string,
  home: string,
  { vault }: CliDeps,
): Promise<CredentialSummary & { readonly publicKey: string; readonly gatewayKey: string | null }> {
  const [{ openHome }, { summariesOf }] = await Promise.all([
    import("../../../vault/files/home.ts"),
    import("../../../vault/summary.ts"),
  ]);
  const opened = openHome(home, vault.random).readVault();
  const found = summariesOf(opened).find((one) => one.label === label);
  if (found?.publicKey == null)
    throw new Denied("credential_unknown", `${label} is no SSH credential of this vault: gw credential list.`);
  return { ...found, publicKey: found.publicKey, gatewayKey: opened.requestKey?.publicKey ?? null };
}
