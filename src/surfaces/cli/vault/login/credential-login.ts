import { Denied } from "../../../../kernel/failure.ts";
import { Secret } from "../../../../kernel/secret.ts";
import { openProof, readPlace } from "../../../../vault/credential.ts";
import { openHome } from "../../../../vault/files/home.ts";
import { makeDpopKey } from "../../../../vault/token/dpop.ts";
import type { TokenExchange } from "../../../../vault/token/exchange.ts";
import { type ExchangeParts, wipeParts } from "../../../../vault/token/parts.ts";
import type { CredentialEntry } from "../../../../vault/vault.ts";
import { answering } from "../../answer.ts";
import type { CliIo, Exit } from "../../io.ts";
import { renewCredential, storeCredential } from "../change-credential.ts";
import { sayCredential } from "../credentials.ts";
import { type ExchangeOptions, readExchangeOptions, refuseExchangeOptions } from "../exchange-options.ts";
import { requireSecretOptions, type SecretOptions, takeSecret } from "../secret-input.ts";
import { type VaultCliPorts, type VaultSession, withOperator } from "../session.ts";
import type { Login } from "./ask-endpoint.ts";
import { agreeInBrowser } from "./browser-flow.ts";
import { agreeOnDevice } from "./device-flow.ts";

export interface CredentialLoginOptions extends SecretOptions, ExchangeOptions {
  readonly origins: readonly string[];
  readonly eachUse: boolean;
  /** Agree on another device, by a code. */
  readonly device: boolean;
  readonly redirectPort: number;
}

/**
 * `gw credential login LABEL`: a person agrees at the provider, and the refresh token is sealed without anybody seeing it. A label
 * that is there already is agreed to once more, at the very endpoints that were pinned when it was added.
 */
export function runCredentialLogin(
  label: string,
  options: CredentialLoginOptions,
  io: CliIo,
  ports: VaultCliPorts,
): Promise<Exit> {
  return answering(io, async () => {
    requireSecretOptions("oauth2", options);
    const vault = openHome(options.home, ports.random).readVault();
    const known = vault.credentials.find((one) => one.label === label);
    const exchange = known === undefined ? await newExchange(options, ports) : knownExchange(known, options);
    // Before a person agrees to anything, too: what they agreed to would be lost.
    if (known === undefined) readPlace(vault, { label, kind: "oauth2", boundTo: options.origins, exchange });
    const agree = chooseWay(exchange, options);
    return await withOperator(options, io, ports, async (session) => {
      using parts = await partsFor(session, label, known, exchange, options, io);
      const { proof, dpopKey } = parts;
      using secret = joinParts(await agree({ label, exchange, proof, dpopKey, nonce: null, io, ports }), proof);
      const { origins: boundTo, eachUse } = options;
      const given = { label, kind: "oauth2", boundTo, eachUse, exchange, secret } as const;
      const vault =
        known === undefined
          ? await storeCredential(session, ports, dpopKey === null ? given : { ...given, dpopKey })
          : await renewCredential(session, ports, { label, secret });
      return sayCredential(io, options, vault, label, known === undefined ? "stored" : "rotated");
    });
  });
}

function newExchange(options: CredentialLoginOptions, ports: VaultCliPorts): Promise<TokenExchange> {
  const clientAuth = options.clientAuth ?? "none";
  const asked = { ...options, grant: "refresh_token", clientAuth };
  return readExchangeOptions("oauth2", asked, ports.fetchDocument ?? (async () => undefined));
}

function knownExchange({ label, exchange }: CredentialEntry, options: CredentialLoginOptions): TokenExchange {
  if (exchange?.grant !== "refresh_token")
    throw new Denied(
      "credential_invalid",
      `${label} is nothing that a person agrees to: gw credential rotate ${label}.`,
    );
  refuseExchangeOptions(
    options,
    `${label} is there already and is agreed to once more as it was added: leave these options out, or take another label.`,
  );
  if (options.origins.length > 0)
    throw new Denied("credential_invalid", `${label} is there already, with its origins: leave --origin out.`);
  return exchange;
}

function chooseWay(
  { authorizationEndpoint, deviceEndpoint }: TokenExchange,
  { device, redirectPort }: CredentialLoginOptions,
): (login: Login) => Promise<string> {
  if (device) {
    if (deviceEndpoint === null)
      throw new Denied("credential_invalid", "The provider names no device endpoint: give --device-endpoint URL.");
    return (login) => agreeOnDevice(login, deviceEndpoint);
  }
  if (authorizationEndpoint === null)
    throw new Denied(
      "credential_invalid",
      "The provider names no authorization endpoint: give --authorization-endpoint URL, or --device.",
    );
  return (login) => agreeInBrowser(login, authorizationEndpoint, redirectPort);
}

/** What proves the client, and the key that its tokens are bound to: as they are sealed, or new. */
async function partsFor(
  { home, operator }: VaultSession,
  label: string,
  known: CredentialEntry | undefined,
  { clientAuth, dpop }: TokenExchange,
  options: CredentialLoginOptions,
  io: CliIo,
): Promise<ExchangeParts & Disposable> {
  if (known !== undefined) return openProof(home.readVault(), operator, label);
  const proof = clientAuth === "none" ? null : await takeSecret(label, "oauth2", options, io);
  const parts = { refreshToken: null, proof, dpopKey: dpop ? makeDpopKey() : null };
  return { ...parts, [Symbol.dispose]: () => wipeParts(parts) };
}

/** As it is sealed: the refresh token on the first line, what proves the client after it. */
function joinParts(refreshToken: string, proof: Secret | null): Secret {
  if (proof === null) return Secret.fromText(refreshToken);
  return proof.use((bytes) => Secret.take(Buffer.concat([Buffer.from(`${refreshToken}\n`), bytes])));
}
