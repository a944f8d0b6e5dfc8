import type { Secret } from "../kernel/secret.ts";

/** A credential on loan for one send, already checked against the origin it is bound to. */
export interface LentCredential {
  readonly label: string;
  readonly headerName: string;
  readonly headerValue: Secret;
  /** Fields that go with it, such as the moment it was signed at. */
  readonly further?: readonly LentField[];
  /** Set where the secret goes into a form body under this name, and not into a header. */
  readonly formField?: string;
  /** Further members of a form body that are secret. */
  readonly form?: readonly LentField[];
  /** Members that go to the end of the query: a signature, and what it says of itself. */
  readonly query?: readonly LentField[];
  /** Members of a JSON body that are secret. */
  readonly json?: readonly LentField[];
  /** The certificate that the connection is made with, and its key. */
  readonly certificate?: ClientCertificate;
  /** Every secret that must not come back in the response, such as the token inside the header value. */
  readonly secrets: readonly Secret[];
}

export interface LentField {
  readonly name: string;
  readonly value: Secret;
}

/** What a client shows of itself while a connection is made. Connections of one `id` are interchangeable. */
export interface ClientCertificate {
  readonly label: string;
  readonly id: string;
  readonly certificate: string;
  readonly key: Secret;
}

/** A request as it will leave. */
export interface RequestToSign {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | null;
  readonly atMs: number;
}

/** The request that a loan is for, where the pack says that its provider takes a signature. */
export type ToSign = RequestToSign &
  (
    | { readonly scheme: "aws-sigv4"; readonly scope: SigningScope }
    /** The nonce is never the same twice. */
    | { readonly scheme: "http-signature"; readonly nonce: string }
    /** A token that is bound to a key; the nonce is what the provider asked to see. */
    | { readonly scheme: "dpop"; readonly proofId: string; readonly nonce: string | null }
  );

/** What an AWS signature is good for. */
export interface SigningScope {
  readonly region: string;
  readonly service: string;
  /** Set where the signature stands in the query instead of a header: for so long it is good. */
  readonly expiresS: number | null;
}

/** A loan that its borrower ends: `release` wipes every buffer of it. */
export interface HttpLoan extends LentCredential {
  release(): void;
}

/** Signs in the place of a private key that never leaves the vault. */
export interface SshSigner {
  readonly label: string;
  /** The public key as SSH puts it on the wire. */
  readonly publicKeyBlob: Buffer;
  readonly algorithm: string;
  /** The signature blob of RFC 4253; `flags` as in the agent protocol (2: rsa-sha2-256, 4: rsa-sha2-512). */
  sign(data: Buffer, flags: number): Buffer;
  release(): void;
}

/** How a provider writes a callback secret: as the very bytes of the key, or as `whsec_` and base64 of it. */
export type HmacNotation = "text" | "standard_webhooks";

/** Checks callbacks with a secret that stays in the vault. */
export interface HmacLoan {
  readonly label: string;
  mac(algorithm: "sha256" | "sha512", data: Buffer): Buffer;
  release(): void;
}
