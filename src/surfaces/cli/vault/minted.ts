import { showText } from "../../../kernel/display.ts";
import { Denied } from "../../../kernel/failure.ts";
import type { Secret } from "../../../kernel/secret.ts";
import type { OpenOperator } from "../../../vault/operator.ts";
import type { Vault } from "../../../vault/vault.ts";
import { answering } from "../answer.ts";
import { type CliIo, type Exit, exits } from "../io.ts";
import { type CredentialAddOptions, storeGiven } from "./credentials.ts";
import { say, type VaultCliPorts, type VaultOptions, type VaultSession, withOperator } from "./session.ts";

export interface MintedSecret {
  readonly minted_id: string;
  readonly action: string;
  readonly at: string;
  /** The gateway that took this one's work over, and has it too. */
  readonly also_on?: string;
}

/** Secrets that answers brought: kept under the vault's key until an operator takes them over. */
export interface MintedStore {
  list(): readonly MintedSecret[];
  /** Undefined where there is none of that name. */
  secretOf(mintedId: string): Secret | undefined;
  forget(mintedId: string): Promise<void>;
  close(): Promise<void>;
}

export interface MintedKeeper {
  /** Whether there is one of that name. It needs nobody's key. */
  isThere(home: string, mintedId: string): Promise<boolean>;
  open(home: string, vault: Vault, operator: Pick<OpenOperator, "serviceKey" | "readingKey">): Promise<MintedStore>;
}

/** `gw credential minted`: what waits to be taken over. No secret is shown. */
export function runMintedList(
  options: VaultOptions,
  io: CliIo,
  ports: VaultCliPorts,
  keeper: MintedKeeper,
): Promise<Exit> {
  return answering(io, () =>
    withOperator(options, io, ports, async ({ home, operator }) => {
      const store = await keeper.open(options.home, home.readVault(), operator);
      try {
        const found = store.list();
        if (options.json) io.out(JSON.stringify(found, null, 2));
        else if (found.length === 0) io.out("No answer brought a secret that is still to be taken over.");
        else
          for (const { minted_id, action, at, also_on: also } of found)
            io.out(
              `${minted_id}  ${showText(action)}  ${at}${also === undefined ? "" : `  also on ${showText(also)}, which took over here: adopt it on one of them`}`,
            );
        return exits.done;
      } finally {
        await store.close();
      }
    }),
  );
}

/**
 * `gw credential adopt MINTED_ID LABEL`: from the gateway's keeping into the vault, bound and signed like any other. It becomes whatever
 * kind it is one of.
 */
export function runAdopt(
  mintedId: string,
  label: string,
  options: CredentialAddOptions,
  io: CliIo,
  ports: VaultCliPorts,
  keeper: MintedKeeper,
): Promise<Exit> {
  return answering(io, async () => {
    const { sourceCommand, sourceSystemd, googleKey, clientAuth } = options;
    const brought = [sourceCommand, sourceSystemd, googleKey].some((one) => one !== undefined);
    if (brought || clientAuth === "tls_client_auth")
      throw new Denied("credential_invalid", "That takes no secret, so that a minted one cannot become it.");
    if (!(await keeper.isThere(options.home, mintedId))) throw unknownMinted(mintedId);
    return await adopt(mintedId, label, options, io, ports, keeper);
  });
}

async function adopt(
  mintedId: string,
  label: string,
  options: CredentialAddOptions,
  io: CliIo,
  ports: VaultCliPorts,
  keeper: MintedKeeper,
): Promise<Exit> {
  let store: MintedStore | undefined;
  const take = async ({ home, operator }: VaultSession): Promise<Secret> => {
    store = await keeper.open(options.home, home.readVault(), operator);
    const secret = store.secretOf(mintedId);
    if (secret === undefined) throw unknownMinted(mintedId);
    return secret;
  };
  try {
    return await storeGiven(label, options, io, ports, take, async ({ generation }) => {
      // Only once the vault has it: a crash before this leaves it twice, never nowhere.
      await store?.forget(mintedId);
      const record = { label, minted_id: mintedId, generation };
      say(io, options.json, record, `${label} stored, vault generation ${generation}.`);
      return exits.done;
    });
  } finally {
    await store?.close();
  }
}

function unknownMinted(mintedId: string): Denied {
  return new Denied("credential_unknown", `There is no minted secret ${mintedId}: gw credential minted.`);
}
