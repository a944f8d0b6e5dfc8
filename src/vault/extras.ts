import type { JsonObject, JsonValue } from "../kernel/json.ts";
import { RAW_KEY_BYTES } from "./keys.ts";
import type { PageShape } from "./shape.ts";
import { readSourcePage, type SecretSource, sourcePage } from "./source/source.ts";

/** What some kinds have beside what every entry has. Left out of the page where there is none, so that older entries still open. */
export interface EntryExtras {
  /** The public half of a client certificate, in PEM; of kind mtls alone. */
  readonly certificate: string | null;
  /** The label of the client certificate that is shown along with it. */
  readonly withCertificate: string | null;
  /** What the provider calls the key that signs; of kind http-signature alone. */
  readonly keyId: string | null;
  /** Where the secret is got for a while, where it is not sealed here. */
  readonly source: SecretSource | null;
  /** The gateways that may lend it, to whose keys it is sealed; null for every gateway of the vault. */
  readonly lenders: readonly Lender[] | null;
}

export interface Lender {
  readonly gateway: string;
  /** Raw X25519. */
  readonly key: Buffer;
}

export const NO_EXTRAS: EntryExtras = {
  certificate: null,
  withCertificate: null,
  keyId: null,
  source: null,
  lenders: null,
};
export const EXTRA_MEMBERS = ["certificate", "with_certificate", "key_id", "source", "lenders"] as const;
export const CERTIFICATE_BYTES = 32_768;
export const MOST_LENDERS = 64;

export function extrasMember({ certificate, withCertificate, keyId, source, lenders }: EntryExtras): JsonObject {
  return {
    ...(certificate === null ? {} : { certificate }),
    ...(withCertificate === null ? {} : { with_certificate: withCertificate }),
    ...(keyId === null ? {} : { key_id: keyId }),
    ...(source === null ? {} : { source: sourcePage(source) }),
    ...(lenders === null
      ? {}
      : { lenders: lenders.map(({ gateway, key }) => ({ gateway, key: key.toString("base64url") })) }),
  };
}

type Page = { readonly [name in (typeof EXTRA_MEMBERS)[number]]?: JsonValue };

export function readExtras(shape: PageShape, page: Page, where: string): EntryExtras {
  const text = (name: Exclude<keyof Page, "source" | "lenders">, most: number): string | null =>
    page[name] === undefined ? null : shape.text(page[name], `${where}/${name}`, most);
  return {
    certificate: text("certificate", CERTIFICATE_BYTES),
    withCertificate: text("with_certificate", 64),
    keyId: text("key_id", 256),
    source: page.source === undefined ? null : readSourcePage(shape, page.source, `${where}/source`),
    lenders:
      page.lenders === undefined
        ? null
        : shape.list(page.lenders, `${where}/lenders`, MOST_LENDERS, (item, at) => {
            const lender = shape.members(item, at, ["gateway", "key"]);
            return {
              gateway: shape.text(lender.gateway, `${at}/gateway`, 63),
              key: shape.bytes(lender.key, `${at}/key`, RAW_KEY_BYTES, RAW_KEY_BYTES),
            };
          }),
  };
}
