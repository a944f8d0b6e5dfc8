/** OpenSSL's codes for a certificate or a key that it does not take, as people say it. */
const words: Readonly<Record<string, string>> = {
  ERR_OSSL_X509_KEY_VALUES_MISMATCH: "the private key is not the key of the first certificate",
  ERR_SSL_EE_KEY_TOO_SMALL: "the key of the certificate is too short",
  ERR_SSL_CA_KEY_TOO_SMALL: "the key of an authority in the chain is too short",
  ERR_SSL_CA_MD_TOO_WEAK: "a certificate in the chain is signed with a digest that is too weak",
  ERR_OSSL_PEM_NO_START_LINE: "there is no certificate in PEM",
  ERR_OSSL_UNSUPPORTED: "the private key cannot be read",
};

/** Why OpenSSL does not take it. Its own message is never said: it means nothing to most, and may quote what was given. */
export function sayOpenssl(cause: unknown): string {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "no code";
  return words[code] ?? `OpenSSL does not take it (${code})`;
}
