import type { Command } from "commander";
import type { TrustOptions } from "../caller/trust.ts";
import type { OperatorOptions } from "../options.ts";
import { addCommand, addOperatorCommand, type CliDeps, optionsOf } from "./deps.ts";

export function addCallerCommands(program: Command, { io, vault, finish, signatures, requireHome }: CliDeps): void {
  const caller = program.command("caller").description("who vouches for the programs that call");
  addOperatorCommand(
    caller,
    "enroll <FILE>",
    "vouch for the exact bytes of a program",
    'gw caller enroll /usr/bin/node --as "our node"',
  )
    .requiredOption("--as <NAME>", "the authority that the card will name")
    .action(async (file: string, _options, command: Command) => {
      const options = optionsOf<OperatorOptions & { readonly as: string }>(command);
      finish(await (await import("../caller/enroll.ts")).runCallerEnroll(file, options, io, vault));
    });
  addOperatorCommand(
    caller,
    "trust <NAME>",
    "believe a signer: a Sigstore identity or an IMA key",
    "gw caller trust Acme --subject release@acme.example --issuer https://accounts.example --root trusted_root.json\n" +
      "gw caller trust 'Acme build' --ima-key acme.x509",
  )
    .option("--subject <TEXT>", "Sigstore: the e-mail address or URL in the certificate, whole")
    .option("--issuer <URL>", "Sigstore: who vouched for that subject, whole")
    .option("--root <FILE>", "Sigstore: the trusted_root.json; needed once, replaces the one before")
    .option("--ima-key <FILE>", "IMA: a public key or certificate, PEM or DER")
    .action(async (name: string, _options, command: Command) => {
      const options = optionsOf<OperatorOptions & TrustOptions>(command);
      if (options.root !== undefined) requireHome("caller trust");
      finish(await (await import("../caller/trust.ts")).runCallerTrust(name, options, io, vault, signatures));
    });
  addCommand(
    caller,
    "bundle <PROGRAM> <BUNDLE>",
    "check and file the Sigstore bundle of a program",
    "gw caller bundle /usr/local/bin/agent agent.sigstore.json",
  ).action(async (file: string, bundle: string, _options, command: Command) => {
    requireHome("caller bundle");
    const { runCallerBundle } = await import("../caller/bundle.ts");
    finish(await runCallerBundle(file, bundle, optionsOf(command), io, vault, signatures));
  });
  addCommand(caller, "list", "what vouches for programs: files, signers, keys", "gw caller list").action(
    async (_options, command: Command) =>
      finish(await (await import("../caller/list.ts")).runCallerList(optionsOf(command), io, vault)),
  );
  addOperatorCommand(
    caller,
    "remove <NAME>",
    "believe it no longer, named by its authority or digest",
    'gw caller remove "our node"',
  ).action(async (which: string, _options, command: Command) =>
    finish(await (await import("../caller/remove.ts")).runCallerRemove(which, optionsOf(command), io, vault)),
  );
}
