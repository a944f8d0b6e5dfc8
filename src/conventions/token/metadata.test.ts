import assert from "node:assert/strict";
import { test } from "node:test";
import { metadataUrls, readMetadata } from "./metadata.ts";

const issuer = "https://id.example/tenant";
const value = { issuer, token_endpoint: "https://id.example/token" };

test("metadata is looked for where RFC 8414 and OpenID Connect put it, with the issuer's path and without", () => {
  const oauth = "https://id.example/.well-known/oauth-authorization-server";
  assert.deepEqual(metadataUrls(issuer), [
    `${oauth}/tenant`,
    "https://id.example/tenant/.well-known/openid-configuration",
  ]);
  assert.deepEqual(metadataUrls(`${issuer}/`), metadataUrls(issuer));
  assert.deepEqual(metadataUrls("https://id.example"), [oauth, "https://id.example/.well-known/openid-configuration"]);
});

test("metadata counts for its very own issuer alone, and only where it names a token endpoint", () => {
  for (const wrong of [[], null, "x", { ...value, issuer: `${issuer}/` }, { issuer }, { ...value, token_endpoint: 1 }])
    assert.ok("trouble" in readMetadata(wrong, issuer), JSON.stringify(wrong));
});

test("what metadata does not say is absent, but for the client authentication that then holds", () => {
  assert.deepEqual(readMetadata(value, issuer), {
    issuer,
    tokenEndpoint: "https://id.example/token",
    certificateTokenEndpoint: null,
    revocationEndpoint: null,
    authorizationEndpoint: null,
    deviceEndpoint: null,
    clientAuths: ["client_secret_basic"],
  });
  const full = {
    ...value,
    revocation_endpoint: "https://id.example/revoke",
    authorization_endpoint: "https://id.example/authorize",
    device_authorization_endpoint: "https://id.example/device",
    token_endpoint_auth_methods_supported: ["private_key_jwt", 7],
    mtls_endpoint_aliases: { token_endpoint: "https://mtls.example/token" },
  };
  assert.deepEqual(readMetadata(full, issuer), {
    issuer,
    tokenEndpoint: "https://id.example/token",
    certificateTokenEndpoint: "https://mtls.example/token",
    revocationEndpoint: "https://id.example/revoke",
    authorizationEndpoint: "https://id.example/authorize",
    deviceEndpoint: "https://id.example/device",
    clientAuths: ["private_key_jwt"],
  });
  const odd = readMetadata({ ...value, revocation_endpoint: 7, mtls_endpoint_aliases: { token_endpoint: 7 } }, issuer);
  assert.ok(!("trouble" in odd) && odd.revocationEndpoint === null && odd.certificateTokenEndpoint === null);
});
