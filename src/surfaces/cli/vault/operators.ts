import { openHome } from "../../../vault/files/home.ts";
import { keyIdOf } from "../../../vault/keys.ts";
import {
  addOperator,
  changePassphrase,
  checkNewName,
  checkRemovable,
  removeOperator,
  setPin,
} from "../../../vault/operator-change.ts";
import { checkNewPin } from "../../../vault/passphrase/pin.ts";
import { checkPassphrase } from "../../../vault/passphrase/strength.ts";
import { recipientOf } from "../../../vault/policy/change.ts";
import type { Policy } from "../../../vault/policy/policy.ts";
import { signPolicy } from "../../../vault/policy/verify.ts";
import type { Vault } from "../../../vault/vault.ts";
import { answering } from "../answer.ts";
import { type CliIo, type Exit, exits } from "../io.ts";
import { endLogin } from "../operator/login.ts";
import { sayProse } from "../say-prose.ts";
import { askTwice, readSecretFile } from "./ask-secret.ts";
import { chooseOperator } from "./open-keys.ts";
import { whyUnfit } from "./passkeys.ts";
import { applyChange, say, type VaultCliPorts, type VaultOptions, withPassphrase } from "./session.ts";

export interface NewPassphraseOptions extends VaultOptions {
  readonly newPassphraseFile?: string;
}

/** `gw operator add NAME`: an operator unlocks and signs; the new one types a passphrase of their own. */
export function runOperatorAdd(
  name: string,
  options: NewPassphraseOptions,
  io: CliIo,
  ports: VaultCliPorts,
): Promise<Exit> {
  return answering(io, () => {
    checkNewName(openHome(options.home, ports.random).readVault(), name);
    requireNewPassphrase(options);
    return withPassphrase(options, io, ports, async (session) => {
      using passphrase = await newPassphrase(options, io, `New passphrase of ${name}: `);
      const vault = await applyChange(session, ports, { what: "operator_added", subject: name }, async (current) => {
        const next = await addOperator(current, session.operator, { operatorName: name, passphrase }, ports);
        const policy = session.home.readPolicy(current);
        const readers = next.operators.filter((keys) => keys.name === name).map(recipientOf);
        const draft = { ...policy, auditRecipients: [...readersAmong(policy, current), ...readers] };
        return { vault: next, policy: signPolicy(draft, policy, session.operator, current, ports.clock) };
      });
      const keyId = vault.operators.find((keys) => keys.name === name)?.keyId ?? "";
      say(
        io,
        options.json,
        { operator: name, key_id: keyId, generation: vault.generation },
        `${name} is an operator, key ${keyId}.`,
      );
      return exits.done;
    });
  });
}

export function runOperatorList(options: VaultOptions, io: CliIo, ports: VaultCliPorts): Promise<Exit> {
  return answering(io, async () => {
    const vault = openHome(options.home, ports.random).readVault();
    const rows = vault.operators.map(({ name, keyId, approverKey, readingKey }) => ({
      operator: name,
      key_id: keyId,
      key: approverKey.toString("hex"),
      reading_key_id: keyIdOf(readingKey),
    }));
    if (options.json) io.out(JSON.stringify(rows));
    else {
      for (const row of rows) {
        sayProse(io, `${row.operator}  signs with ${row.key_id}  reads with ${row.reading_key_id}`, 2);
        io.out(`  gw audit verify --operator ${row.key}`);
      }
    }
    return exits.done;
  });
}

/** `gw operator remove NAME`: also replaces the service key, and signs the policy again without their reading key. */
export function runOperatorRemove(name: string, options: VaultOptions, io: CliIo, ports: VaultCliPorts): Promise<Exit> {
  return answering(io, async () => {
    const before = openHome(options.home, ports.random).readVault();
    const operator = await chooseOperator(before, options, io);
    checkRemovable(before, name, operator);
    return await withPassphrase({ ...options, operator }, io, ports, async (session) => {
      const vault = await applyChange(session, ports, { what: "operator_removed", subject: name }, async (current) => {
        const policy = session.home.readPolicy(current);
        const { vault: next, operator } = await removeOperator(current, session.operator, name, ports);
        const auditRecipients = readersAmong(policy, next);
        const signed = signPolicy({ ...policy, auditRecipients }, policy, operator, current, ports.clock);
        return { vault: next, policy: signed, newServiceKey: operator.serviceKey };
      });
      say(
        io,
        options.json,
        { operator: name, removed: true, generation: vault.generation },
        `${name} is no operator any more.`,
      );
      io.err(
        `${name} knew the secrets of this vault: rotate the credentials at their providers, replace the key that signs requests to hosts (gw ssh new-key), and write key files again. A running gateway has locked itself: gw unlock.`,
      );
      // Whoever has to go goes, whatever that leaves.
      const rules = session.home.readPolicy(vault);
      const unfit = whyUnfit(rules.decide, rules, vault);
      if (unfit !== null) io.err(`warning: a rule of policy can be met by nobody now. ${unfit}`);
      return exits.done;
    });
  });
}

/** Operators alone read the log. A key that is nobody's was left by a command that was cut short between policy and vault. */
function readersAmong({ auditRecipients }: Pick<Policy, "auditRecipients">, { operators }: Pick<Vault, "operators">) {
  const keyIds = new Set(operators.map(({ readingKey }) => keyIdOf(readingKey)));
  return auditRecipients.filter(({ keyId }) => keyIds.has(keyId));
}

/** `gw passphrase`. */
export function runPassphrase(options: NewPassphraseOptions, io: CliIo, ports: VaultCliPorts): Promise<Exit> {
  return answering(io, () => {
    requireNewPassphrase(options);
    return withPassphrase(options, io, ports, async (session) => {
      using fresh = await newPassphrase(options, io, "New passphrase: ");
      const { name } = session.operator;
      await applyChange(session, ports, { what: "passphrase_changed", subject: name }, async (vault) => ({
        vault: await changePassphrase(vault, session.operator, session.passphrase, fresh, ports),
      }));
      await endLogin(session.operator.vaultId, ports);
      say(
        io,
        options.json,
        { operator: name, changed: true },
        "Changed. Old copies of vault.json still open with the old one: destroy them.",
      );
      return exits.done;
    });
  });
}

/** `gw operator pin`: the PIN that `gw watch` asks. */
export function runOperatorPin(
  options: VaultOptions & { readonly clear: boolean },
  io: CliIo,
  ports: VaultCliPorts,
): Promise<Exit> {
  return answering(io, () =>
    withPassphrase(options, io, ports, async (session) => {
      const pin = options.clear ? null : await askTwice(io, "New PIN: ", checkNewPin);
      try {
        const { name } = session.operator;
        await applyChange(session, ports, { what: "pin_changed", subject: name }, async (vault) => ({
          vault: await setPin(vault, session.operator, session.passphrase, pin, ports),
        }));
        // It asks for the PIN that it was started with.
        await endLogin(session.operator.vaultId, ports);
        say(
          io,
          options.json,
          { operator: name, pin: pin !== null },
          pin === null ? "The PIN is gone." : "The PIN is set.",
        );
        return exits.done;
      } finally {
        pin?.wipe();
      }
    }),
  );
}

/** One in a file is read, and judged, before anybody types theirs. */
function requireNewPassphrase({ newPassphraseFile: file }: NewPassphraseOptions): void {
  if (file === undefined) return;
  using passphrase = readSecretFile(file);
  checkPassphrase(passphrase);
}

async function newPassphrase(options: NewPassphraseOptions, io: CliIo, prompt: string) {
  return options.newPassphraseFile === undefined
    ? await askTwice(io, prompt, checkPassphrase)
    : readSecretFile(options.newPassphraseFile);
}
