import { showIdentifier } from "../../../kernel/display.ts";
import { Denied } from "../../../kernel/failure.ts";
import type { Secret } from "../../../kernel/secret.ts";
import { openHome } from "../../../vault/files/home.ts";
import { checkOperatorName } from "../../../vault/lineage.ts";
import { createVault } from "../../../vault/operator.ts";
import { generatePassphrase } from "../../../vault/passphrase/generate.ts";
import { checkPassphrase } from "../../../vault/passphrase/strength.ts";
import { firstPolicy } from "../../../vault/policy/change.ts";
import { signPolicy } from "../../../vault/policy/verify.ts";
import { answering } from "../answer.ts";
import { type CliIo, type Exit, exits } from "../io.ts";
import type { BaseOptions } from "../options.ts";
import { sayProse } from "../say-prose.ts";
import { askTwice, readPassphrase } from "./ask-secret.ts";
import { remember, requireStateFolder } from "./seen.ts";
import { say, type VaultCliPorts, type VaultOptions } from "./session.ts";
import { nameOfUser } from "./user-name.ts";

type InitOptions = VaultOptions & Pick<BaseOptions, "place">;

/** `gw init`: the first operator, the vault and the first signed policy. Nothing is asked twice or shown again. */
export function runInit(options: InitOptions, io: CliIo, ports: VaultCliPorts): Promise<Exit> {
  return answering(io, async () => {
    const home = openHome(options.home, ports.random);
    if (home.exists()) {
      throw new Denied(
        "vault_exists",
        `${home.folder} holds a vault already. Use it, or name another folder with --home.`,
      );
    }
    requireStateFolder(ports.stateFolder);
    const operatorName = options.operator ?? nameOfUser();
    checkOperatorName(operatorName);
    using passphrase = await choosePassphrase(options, io, ports);
    const { vault, operator } = await createVault({ operatorName, passphrase }, ports);
    const founder = vault.operators[0];
    if (founder === undefined) throw new Denied("vault_tampered", "A new vault names no operator.");
    try {
      const draft = firstPolicy(founder);
      const policy = signPolicy(draft, null, operator, vault, ports.clock);
      await home.create(vault, policy);
      await remember(ports.stateFolder, home.folder, vault, { policy });
      await ports.afterChange({
        home: home.folder,
        what: "vault_created",
        subject: operatorName,
        by: operatorName,
        generation: vault.generation,
        manifestHash: vault.manifestHash,
        policyVersion: policy.version,
        newServiceKey: null,
        vaultChanged: true,
        operator,
      });
    } finally {
      operator.wipe();
    }
    const record = { home: home.folder, vault_id: vault.vaultId, operator: operatorName, key_id: operator.keyId };
    say(
      io,
      options.json,
      record,
      `Made ${home.folder}: operator ${operatorName}, key ${operator.keyId}, vault ${vault.vaultId}.`,
    );
    if (!options.json) sayProse(io, `Next: ${nextOf(options, operatorName)}`, 2);
    return exits.done;
  });
}

const TRIES = 3;

export async function choosePassphrase(options: VaultOptions, io: CliIo, ports: VaultCliPorts): Promise<Secret> {
  if (options.passphraseFile !== undefined) return await readPassphrase(options, io, "");
  const answer = await io.ask("Passphrase: Enter for a generated one, or `own` to type yours: ");
  if (answer === "own") return await askTwice(io, "New passphrase: ", checkPassphrase);
  if (answer !== "")
    throw new Denied(
      "interrupted",
      "That was neither Enter alone nor the word own. Nothing was made: run the command again.",
    );
  const generated = generatePassphrase(ports.random);
  // The one secret a command shows, once and on the terminal alone: the person has to learn it from somewhere.
  io.err(`Your passphrase, shown only now: ${generated.use((bytes) => bytes.toString("latin1"))}`);
  try {
    await typeShown(generated, io);
    return generated;
  } catch (error) {
    generated.wipe();
    throw error;
  }
}

/** It still stands on the screen: a slip of the finger is no reason for another one. */
async function typeShown(generated: Secret, io: CliIo): Promise<void> {
  let prompt = "Write it down, then type it: ";
  for (let tries = 0; tries < TRIES; tries++) {
    using typed = await io.askSecret(prompt);
    if (generated.equals(typed)) return;
    prompt = "That is not the passphrase shown. Type it once more: ";
  }
  throw new Denied(
    "secret_mismatch",
    "That is not the passphrase shown. Nothing was made: run the command again, it shows another one.",
  );
}

/** On a machine whose gateway is for all its users, a unit runs it and a group lets people in. */
function nextOf({ place }: InitOptions, operator: string): string {
  const machine = place?.machine ?? null;
  if (machine === null) return "gw up; then gw credential add, gw pack add and gw pack trust say what agents can do.";
  return `usermod -aG gw-operators ${showIdentifier(operator)}; systemctl enable --now gw-ident gw; then, as ${showIdentifier(operator)}: gw unlock --first`;
}
