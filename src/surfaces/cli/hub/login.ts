import { isSocket, readHubAddress } from "../../../hub/address.ts";
import type { HubLogin } from "../../../hub/connect.ts";
import type { Random } from "../../../kernel/clock.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { openHome } from "../../../vault/files/home.ts";
import type { CliIo } from "../io.ts";
import { readGivenFile } from "../read-given-file.ts";
import { readSecretFile } from "../vault/ask-secret.ts";

/** How a person's command reaches a hub's database. */
export interface HubLoginOptions {
  readonly hubPasswordFile?: string;
  /** PEM of the authority that vouches for the database. */
  readonly hubCa?: string;
}

/** For a command of an operator: a home that does not open is told before the password is typed. */
export function takeOperatorLogin(
  options: HubLoginOptions & { readonly home: string; readonly hub: string },
  { io, random }: { readonly io: CliIo; readonly random: Random },
): Promise<HubLogin> {
  openHome(options.home, random).readVault();
  return takeHubLogin(options.hub, options, io);
}

/** The password is asked for, or read from a private file; a socket of this machine asks for none by itself. */
export async function takeHubLogin(url: string, options: HubLoginOptions, io: CliIo): Promise<HubLogin> {
  const address = readHubAddress(url);
  const authority =
    options.hubCa === undefined
      ? null
      : readGivenFile(options.hubCa, defaults.hubAuthorityBytes, "file_unreadable").toString("utf8");
  if (options.hubPasswordFile !== undefined) {
    return { address, authority, password: readSecretFile(options.hubPasswordFile) };
  }
  const local = address.hosts.every(isSocket);
  return {
    address,
    authority,
    password: local ? null : await io.askSecret(`Password of ${address.user} on the hub: `),
  };
}
