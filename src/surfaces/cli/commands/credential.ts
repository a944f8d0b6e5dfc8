import type { Command } from "commander";
import { CREDENTIAL_KINDS } from "../../../vault/vault.ts";
import type { OperatorOptions } from "../options.ts";
import type { ImportOptions } from "../vault/import/import.ts";
import type { CredentialLoginOptions } from "../vault/login/credential-login.ts";
import { whole } from "./budget-options.ts";
import { addOperatorCommand, type CliDeps, optionsOf } from "./deps.ts";

type LoginOptions = Omit<CredentialLoginOptions, "origins">;

export function addCredentialCommands(program: Command, deps: CliDeps): void {
  const { io, vault, finish, mintedKeeper } = deps;
  const credential = program.command("credential").description("secrets that agents never see; no command shows one");
  withKindOptions(
    addOperatorCommand(
      credential,
      "add <LABEL>",
      "seal a secret, bound to where it may go",
      "gw credential add acme-deploy --kind bearer --origin https://api.acme.example < token.txt",
    ).requiredOption("--kind <KIND>", CREDENTIAL_KINDS.join(", ")),
  )
    .option("--secret-fd <N>", "read the secret from this descriptor", whole(0, 65_535))
    .option("--key-passphrase-file <FILE>", "for an encrypted SSH key")
    .action(async (label: string, _options, command: Command) => {
      finish(await (await import("../vault/credentials.ts")).runCredentialAdd(label, bindingOf(command), io, vault));
    });
  addOperatorCommand(
    credential,
    "login <LABEL>",
    "have a person agree at the provider, and seal the refresh token; once more for a label that is there",
    "gw credential login acme-person --issuer https://login.acme.example --client-id acme-cli --scope offline_access --origin https://api.acme.example\ngw credential login acme-person --device",
  )
    .option("--device", "agree on another device, by a code (RFC 8628)", false)
    .option(
      "--redirect-port <N>",
      "the port on 127.0.0.1 that the provider knows; any free one otherwise",
      whole(0, 65_535),
      0,
    )
    .option("--origin <URL>", "an origin a token may be sent to (repeatable)", many, [])
    .option("--each-use", "ask a person on every use", false)
    .option("--issuer <URL>", "whose metadata is read now and pinned")
    .option("--token-endpoint <URL>", "where a token is got, where there is no metadata")
    .option("--authorization-endpoint <URL>", "where a person agrees in a browser, where there is no metadata")
    .option("--device-endpoint <URL>", "where a code for another device is got, where there is no metadata")
    .option("--revocation-endpoint <URL>", "where the refresh token is revoked, where there is no metadata")
    .option("--client-id <ID>", "who asks")
    .option("--client-auth <METHOD>", "none (the usual), client_secret_basic, client_secret_post or private_key_jwt")
    .option("--key-id <ID>", "names the key at the provider")
    .option("--scope <SCOPE>", "what a token may be good for (repeatable)", many, [])
    .option("--audience <NAME>", "whom a token is for")
    .option("--resource <URI>", "the resource that a token is for (RFC 8707)")
    .option("--dpop", "bind tokens to a key that is made and sealed here (RFC 9449)", false)
    .option("--ca <FILE>", "trust this authority at the provider instead of the system's")
    .option("--private-network", "the token endpoint may resolve to a private address", false)
    .option("--secret-fd <N>", "read the client's secret or key from this descriptor", whole(0, 65_535))
    .action(async (label: string, _options, command: Command) => {
      const { runCredentialLogin } = await import("../vault/login/credential-login.ts");
      const { origin, ...rest } = optionsOf<LoginOptions & { origin: string[] }>(command);
      finish(await runCredentialLogin(label, { ...rest, origins: origin }, io, vault));
    });
  addOperatorCommand(
    credential,
    "import <SOURCE> [FILE]",
    "take secrets over from where they lie: gh, env FILE, netrc, npmrc, ssh-key FILE, op REFERENCE",
    "gw credential import npmrc\ngw credential import env .env --bind acme-key=https://api.acme.example",
  )
    .option("--bind <LABEL=ORIGIN>", "where one may be sent that says nothing of it (repeatable)", many, [])
    .option("--host-key <LINE>", "for ssh-key: a host key it may be used with (repeatable)", many, [])
    .option("--only <LABEL>", "take this one alone (repeatable)", many, [])
    .option("--label <NAME>", "what it is called in the vault, for gh, ssh-key and op")
    .option("--host <NAME>", "for gh: the host", "github.com")
    .option("--yes", "take over what is shown, without asking", false)
    .option("--delete", "take it away where it was, without asking")
    .action(async (source: string, file: string | undefined, _options, command: Command) => {
      const { runCredentialImport } = await import("../vault/import/import.ts");
      finish(await runCredentialImport(source, file, optionsOf<ImportOptions>(command), io, vault));
    });
  addOperatorCommand(
    credential,
    "minted",
    "secrets that answers brought and nobody has taken over",
    "gw credential minted",
  ).action(async (_options, command: Command) => {
    const { runMintedList } = await import("../vault/minted.ts");
    finish(await runMintedList(optionsOf(command), io, vault, await mintedKeeper()));
  });
  withKindOptions(
    addOperatorCommand(
      credential,
      "adopt <MINTED_ID> <LABEL>",
      "take one of them over into the vault",
      "gw credential adopt evt_01….1 acme-ci --origin https://api.acme.example",
    ).option("--kind <KIND>", `what it becomes: ${CREDENTIAL_KINDS.join(", ")}`, "bearer"),
  ).action(async (mintedId: string, label: string, _options, command: Command) => {
    const { runAdopt } = await import("../vault/minted.ts");
    finish(await runAdopt(mintedId, label, bindingOf(command), io, vault, await mintedKeeper()));
  });
  addOperatorCommand(
    credential,
    "list",
    "labels, kinds and bindings; once you are logged in also last use and expiry",
    "gw credential list",
  ).action(async (_options, command: Command) => {
    const options = optionsOf<OperatorOptions>(command);
    const { runCredentialList } = await import("../vault/credential-list.ts");
    const { askUses } = await import("../vault/credential-use.ts");
    finish(await runCredentialList(options, io, vault, () => askUses(options, deps)));
  });
  addOperatorCommand(
    credential,
    "rotate <LABEL>",
    "replace the secret, keep the binding",
    "gw credential rotate acme-deploy < new.txt",
  )
    .option("--username <NAME>", "for --kind basic: the user name")
    .option("--secret-fd <N>", "read the secret from this descriptor", whole(0, 65_535))
    .option("--key-passphrase-file <FILE>", "for an encrypted SSH key")
    .action(async (label: string, _options, command: Command) =>
      finish(await (await import("../vault/credentials.ts")).runCredentialRotate(label, optionsOf(command), io, vault)),
    );
  addOperatorCommand(
    credential,
    "remove <LABEL>",
    "forget it; a refresh token is revoked at its provider first",
    "gw credential remove acme-deploy",
  ).action(async (label: string, _options, command: Command) => {
    const options = optionsOf<OperatorOptions>(command);
    const [{ runCredentialRemove }, { revokeFirst }] = await Promise.all([
      import("../vault/credentials.ts"),
      import("../vault/credential-use.ts"),
    ]);
    finish(
      await runCredentialRemove(label, options, io, vault, (session) => revokeFirst(label, options, deps, session)),
    );
  });
  addOperatorCommand(
    credential,
    "test <LABEL>",
    "get a token in exchange for it now, and say what it is good for",
    "gw credential test acme-app",
  ).action(async (label: string, _options, command: Command) => {
    const { runCredentialTest } = await import("../vault/credential-use.ts");
    finish(await runCredentialTest(label, optionsOf<OperatorOptions>(command), deps));
  });
  addOperatorCommand(
    credential,
    "uses",
    "when each was last used, and until when its token is good",
    "gw credential uses",
  ).action(async (_options, command: Command) => {
    const { runCredentialUses } = await import("../vault/credential-use.ts");
    finish(await runCredentialUses(optionsOf<OperatorOptions>(command), deps));
  });
  for (const [verb, disabled, about] of [
    ["disable", true, "stop lending it"],
    ["enable", false, "lend it again, also after the gateway suspended it"],
  ] as const) {
    addOperatorCommand(credential, `${verb} <LABEL>`, about, `gw credential ${verb} acme-deploy`).action(
      async (label: string, _options, command: Command) =>
        finish(
          await (await import("../vault/credentials.ts")).runCredentialSwitch(
            label,
            disabled,
            optionsOf(command),
            io,
            vault,
          ),
        ),
    );
  }
  addOperatorCommand(
    credential,
    "lend <LABEL>",
    "seal it to the gateways on a hub that may lend it; another host's files and keys do not open it",
    "gw credential lend acme-deploy --gateway web1\ngw credential lend acme-deploy --gateway group:web\ngw credential lend acme-deploy --anywhere",
  )
    .option("--gateway <NAME>", "lent by this gateway, or by group:NAME (repeatable)", many, [])
    .option("--anywhere", "lent by every gateway of the vault")
    .action(async (label: string, _options, command: Command) => {
      finish(await (await import("../vault/credentials.ts")).runCredentialLend(label, optionsOf(command), io, vault));
    });
  withPlaces(
    addOperatorCommand(
      credential,
      "bind <LABEL>",
      "where it may go from now on, instead of where it may go now",
      "gw credential bind acme-deploy --origin https://api.acme.example --origin https://eu.acme.example",
    ),
  ).action(async (label: string, _options, command: Command) =>
    finish(await (await import("../vault/credentials.ts")).runCredentialBind(label, bindingOf(command), io, vault)),
  );
  addOperatorCommand(credential, "mark <LABEL>", "ask a person on every use", "gw credential mark acme-deploy")
    .option("--off", "ask no more than the session does", false)
    .action(async (label: string, _options, command: Command) => {
      const options = optionsOf<OperatorOptions & { readonly off: boolean }>(command);
      finish(
        await (await import("../vault/credentials.ts")).runCredentialMark(label, !options.off, options, io, vault),
      );
    });
}

const many = (value: string, before: readonly string[]): readonly string[] => [...before, value];

function bindingOf(command: Command) {
  const { origin, hostKey, pack, ...rest } = optionsOf<
    OperatorOptions & { origin: string[]; hostKey: string[]; pack: string[]; kind: string; eachUse: boolean }
  >(command);
  return { ...rest, origins: origin, hostKeys: hostKey, packs: pack };
}

function withPlaces(command: Command): Command {
  return command
    .option("--origin <URL>", "an origin it may be sent to (repeatable)", many, [])
    .option("--host-key <LINE>", "an SSH host key it may be used with (repeatable)", many, [])
    .option("--pack <NAME>", "for hmac: the pack whose callbacks it verifies (repeatable)", many, []);
}

/** What the kinds of credentials want to know, whoever brings the secret. */
function withKindOptions(command: Command): Command {
  return withPlaces(command)
    .option("--each-use", "ask a person on every use", false)
    .option("--header <NAME>", "for --kind header: the header that carries it")
    .option("--username <NAME>", "for --kind basic: the user name")
    .option("--issuer <URL>", "for oauth2: whose metadata is read now and pinned")
    .option("--token-endpoint <URL>", "for oauth2 and jwt-bearer: where a token is got, where there is no metadata")
    .option("--revocation-endpoint <URL>", "for oauth2: where a refresh token is revoked")
    .option("--grant <GRANT>", "for oauth2: client_credentials or refresh_token")
    .option("--client-id <ID>", "for oauth2 and jwt-bearer: who asks")
    .option(
      "--client-auth <METHOD>",
      "for oauth2: client_secret_basic, client_secret_post, private_key_jwt, tls_client_auth or none",
    )
    .option("--key-id <ID>", "names the key at the provider; for http-signature what the provider calls it")
    .option("--subject <NAME>", "for jwt-bearer: on whose behalf")
    .option("--scope <SCOPE>", "for oauth2 and jwt-bearer: what a token may be good for (repeatable)", many, [])
    .option("--audience <NAME>", "for oauth2 and jwt-bearer: whom a token is for")
    .option("--resource <URI>", "for oauth2: the resource that a token is for (RFC 8707)")
    .option("--dpop", "for oauth2 and jwt-bearer: bind tokens to a key that is made and sealed here (RFC 9449)", false)
    .option("--with-certificate <LABEL>", "a credential of kind mtls to show along with it")
    .option(
      "--source-command <JSON>",
      "get the secret from a fixed program each time: its path and arguments, as a list",
    )
    .option("--source-systemd <NAME>", "get it from a systemd credential of the gateway's service")
    .option(
      "--source-vault <URL>",
      "get it from HashiCorp Vault or OpenBao: https://HOST/v1/MOUNT/data/PATH (KV version 2)",
    )
    .option(
      "--source-vault-dynamic <URL>",
      "get one that Vault or OpenBao makes for a while, such as https://HOST/v1/database/creds/ROLE",
    )
    .option("--source-connect <URL>", "get it from 1Password Connect: https://HOST/v1/vaults/UUID/items/UUID")
    .option("--source-aws <URL>", "get it from AWS Secrets Manager: https://secretsmanager.REGION.amazonaws.com/")
    .option("--source-name <NAME>", "for --source-aws: the name or ARN of the secret")
    .option("--source-field <NAME>", "for a source over the network: the member of the secret")
    .option(
      "--source-role <ROLE_ID>",
      "for --source-vault: log in as this AppRole; its secret_id is the secret to give",
    )
    .option("--source-auth-mount <PATH>", "for --source-vault: where AppRole is mounted; approle where it is not given")
    .option(
      "--lease <SECONDS>",
      "for how long what a source gave is lent: 1 to 3600, 300 where it is not given",
      Number,
    )
    .option("--gateway <NAME>", "lent by this gateway on the hub alone, or by group:NAME (repeatable)", many, [])
    .option("--google-key <FILE>", "for jwt-bearer: the key file of a Google service account")
    .option("--installation <NUMBER>", "for github-app: where the app is installed")
    .option("--role <ARN>", "for aws-role: the role whose keys are lent, for 15 minutes each")
    .option("--region <REGION>", "for aws-role and --source-aws: where AWS is asked")
    .option("--external-id <ID>", "for aws-role: what the owner of the role wants to hear")
    .option("--ca <FILE>", "trust this authority at the token endpoint instead of the system's")
    .option("--private-network", "the token endpoint may resolve to a private address", false);
}
