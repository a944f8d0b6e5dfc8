import { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { createSecureContext } from "node:tls";
import { defaults } from "../kernel/defaults.ts";
import { showText } from "../kernel/display.ts";
import { Denied } from "../kernel/failure.ts";
import { sayOpenssl } from "../kernel/openssl.ts";
import type { ConsoleOptions } from "../surfaces/cli/options.ts";
import { readGivenFile } from "../surfaces/cli/read-given-file.ts";
import { readPrivateFile } from "../vault/files/private-file.ts";
import { LOOPBACK, type ServedAt } from "./serve.ts";

/** Browsers offer passkeys to names below localhost, and to no bare address. */
const NAME = "gw.localhost";

/** On loopback without a word; beyond this machine only under TLS, at one address, and under one name. */
export function placeOf(options: ConsoleOptions, wallMs: number): ServedAt {
  const { port, listen, origin, tlsCert, tlsKey, enrol } = options;
  if (listen === undefined) {
    if (origin !== undefined || tlsCert !== undefined || tlsKey !== undefined || enrol === true)
      throw unfit("--origin, --tls-cert, --tls-key and --enrol go with --listen");
    return { origin: `http://${NAME}:${port}`, addresses: LOOPBACK, port, tls: null };
  }
  if (isIP(listen) === 0 || listen === "0.0.0.0" || listen === "::")
    throw unfit("--listen wants one address of this machine, such as 192.168.1.7; it does not listen on all of them");
  if (origin === undefined || tlsCert === undefined || tlsKey === undefined)
    throw unfit("--listen wants --origin https://NAME[:PORT], --tls-cert FILE and --tls-key FILE as well");
  const named = readOrigin(origin);
  const tls = readTls(tlsCert, tlsKey);
  requireNamed(tlsCert, new X509Certificate(tls.cert), new URL(named.origin).hostname, wallMs);
  return { ...named, addresses: [listen], tls };
}

/** No browser offers a passkey behind a warning. */
function requireNamed(file: string, certificate: X509Certificate, name: string, wallMs: number): void {
  if (certificate.checkHost(name) === undefined)
    throw unfit(`${file} is a certificate of ${showText(certificate.subjectAltName ?? "no name")}, and not of ${name}`);
  if (certificate.validToDate.getTime() <= wallMs)
    throw unfit(`${file} was good until ${certificate.validTo}. Renew it`);
}

function readOrigin(text: string): { readonly origin: string; readonly port: number } {
  const url = URL.parse(text);
  const plain = url !== null && url.protocol === "https:" && isIP(url.hostname.replaceAll(/[[\]]/g, "")) === 0;
  if (!plain || (url.origin !== text && `${url.origin}/` !== text))
    throw unfit("--origin is https://NAME or https://NAME:PORT, with a name and no path; passkeys belong to it");
  return { origin: url.origin, port: url.port === "" ? 443 : Number(url.port) };
}

function readTls(certFile: string, keyFile: string): { readonly cert: Buffer; readonly key: Buffer } {
  const cert = readGivenFile(certFile, defaults.publicKeyFileBytes * 16, "file_unreadable");
  const key = readPrivateFile(keyFile, defaults.publicKeyFileBytes * 16);
  if (key === undefined) throw new Denied("file_unreadable", `${keyFile} cannot be read.`);
  try {
    createSecureContext({ cert, key });
  } catch (error) {
    throw unfit(`--tls-cert and --tls-key are no certificate and its key, in PEM: ${sayOpenssl(error)}`);
  }
  return { cert, key };
}

function unfit(why: string): Denied {
  return new Denied("value_not_allowed", `${why}.`);
}
