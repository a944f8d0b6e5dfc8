/**
 * Bearer tokens. A signature over the same bytes stays valid, so it is checked once and remembered; issuer, audience,
 * expiry and revocation are checked on every request, and scope by each route.
 */
import { errors, jwtVerify } from "jose";
import { defaults } from "../../../../src/kernel/defaults.ts";
import { Denied } from "../../../../src/kernel/failure.ts";
import type { Identity } from "../context.ts";
import type { Core } from "../core.ts";
import { prepared } from "../prepared.ts";
import { AUDIENCE, ISSUER, TOKEN_TYPE } from "./keys.ts";

interface Claims extends Identity {
  readonly issuer: string;
  readonly audience: string;
  readonly expiresAtMs: number;
}

const revocation = prepared((db, p: { readonly tokenId: string }) =>
  db.selectFrom("revoked_tokens").select("revoked_at").where("token_id", "=", p.tokenId),
);

export type VerifyToken = (token: string) => Promise<Identity>;

export function createVerifier(core: Pick<Core, "store" | "clock" | "tokens">): VerifyToken {
  const known = new Map<string, Claims>();
  const { store, clock } = core;

  return async (token) => {
    if (token.length > defaults.referenceTokenCharacters) throw new Denied("token_invalid", "the token is too long");
    let claims = known.get(token);
    if (claims === undefined) {
      claims = await readClaims(core, token);
      if (known.size >= defaults.referenceTokensRemembered) known.clear();
      known.set(token, claims);
    }
    if (claims.issuer !== ISSUER) throw new Denied("token_issuer_wrong", "the token comes from another issuer");
    if (claims.audience !== AUDIENCE) throw new Denied("token_audience_wrong", `the token is not for ${AUDIENCE}`);
    if (clock.wallMs() >= claims.expiresAtMs) throw new Denied("token_expired", "the token has expired");
    const revoked = store.one(revocation({ tokenId: claims.tokenId }));
    if (revoked !== undefined) throw new Denied("token_revoked", `the token was revoked at ${revoked.revoked_at}`);
    return claims;
  };
}

async function readClaims(core: Pick<Core, "clock" | "tokens">, token: string): Promise<Claims> {
  try {
    // The dates are ours to judge on every request; here only the signature and the form are.
    const { payload } = await jwtVerify(token, core.tokens.publicKey, {
      algorithms: ["EdDSA"],
      typ: TOKEN_TYPE,
      currentDate: new Date(0),
      requiredClaims: ["iss", "aud", "sub", "exp", "jti", "scope", "tenant"],
    });
    const { iss, aud, sub, exp, jti, scope, tenant } = payload;
    if (typeof scope !== "string" || typeof tenant !== "string" || typeof aud !== "string") throw malformed();
    if (iss === undefined || sub === undefined || exp === undefined || jti === undefined) throw malformed();
    const scopes = new Set(scope.split(" ").filter((name) => name !== ""));
    return { tenant, actor: sub, scopes, tokenId: jti, issuer: iss, audience: aud, expiresAtMs: exp * 1000 };
  } catch (error) {
    if (error instanceof errors.JOSEError || error instanceof TypeError) throw malformed();
    throw error;
  }
}

function malformed(): Denied {
  return new Denied("token_invalid", "the token is malformed or not signed by the provider's issuer");
}
