import { isIP } from "node:net";
import { isLoopbackHost } from "../../conventions/url/origin.ts";

/** Where callbacks are listened for. A name is not taken: what it resolves to could change. */
export interface CallbackAddress {
  readonly host: string;
  readonly port: number;
}

const ADDRESS = /^(?:\[([0-9a-fA-F:.]+)\]|([0-9.]+)):([0-9]{1,5})$/;

/** `IP:PORT` or `[IP]:PORT`; null when it is neither. Port 0 takes a free one, which `gw status` names. */
export function readCallbackAddress(text: string): CallbackAddress | null {
  const [, six, four, digits] = ADDRESS.exec(text) ?? [];
  const host = six ?? four ?? "";
  const port = Number(digits);
  const version = six === undefined ? 4 : 6;
  return isIP(host) === version && port <= 65_535 ? { host, port } : null;
}

export function isLoopbackAddress({ host }: CallbackAddress): boolean {
  return isLoopbackHost(isIP(host) === 6 ? `[${host}]` : host);
}

export function showAddress({ host, port }: CallbackAddress): string {
  return isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`;
}
