import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import type { Assertion } from "../assertion.ts";
import { enrolmentChallenge, type Registration, readRegistration } from "../enrol.ts";
import { type EnrolledPasskey, hashRpId, signEnrolment } from "../passkey.ts";

/** An authenticator and the browser before it, byte by byte as WebAuthn says, so that a test can bend any of them. */
export interface Bent {
  readonly type?: string;
  readonly origin?: string;
  readonly rpId?: string;
  readonly challenge?: Buffer;
  readonly flags?: number;
  readonly counter?: number;
  readonly more?: Buffer;
  readonly clientData?: Readonly<Record<string, unknown>>;
  readonly key?: KeyObject;
  readonly coseKey?: Buffer;
}

export const PLACE = { rpId: "gw.localhost", origin: "http://gw.localhost:7717" } as const;
const PRESENT_AND_VERIFIED = 0x05;
const ATTESTED = 0x40;

export class TestAuthenticator {
  readonly credentialId = randomBytes(32);
  readonly algorithm: "ES256" | "EdDSA";
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  counter = 0;

  constructor(algorithm: "ES256" | "EdDSA" = "ES256") {
    const { privateKey, publicKey } =
      algorithm === "ES256" ? generateKeyPairSync("ec", { namedCurve: "P-256" }) : generateKeyPairSync("ed25519");
    this.algorithm = algorithm;
    this.privateKey = privateKey;
    this.publicKey = publicKey;
  }

  register(challenge: Buffer, bent: Bent = {}): Registration {
    const id = Buffer.alloc(2);
    id.writeUInt16BE(this.credentialId.length);
    const attested = Buffer.concat([Buffer.alloc(16), id, this.credentialId, bent.coseKey ?? this.coseKey()]);
    const data = this.data({ ...bent, flags: (bent.flags ?? PRESENT_AND_VERIFIED) | ATTESTED }, attested);
    return {
      authenticator_data: data.toString("base64url"),
      client_data: this.clientData("webauthn.create", challenge, bent).toString("base64url"),
    };
  }

  answer(challenge: Buffer, bent: Bent = {}): Assertion {
    if (bent.counter === undefined) this.counter++;
    const data = this.data(bent);
    const clientData = this.clientData("webauthn.get", challenge, bent);
    const signed = Buffer.concat([data, createHash("sha256").update(clientData).digest()]);
    const signature = sign(this.algorithm === "ES256" ? "sha256" : null, signed, bent.key ?? this.privateKey);
    return {
      credential_id: this.credentialId.toString("base64url"),
      authenticator_data: data.toString("base64url"),
      client_data: clientData.toString("base64url"),
      signature: signature.toString("base64url"),
    };
  }

  /** Enrolled for an operator, by the real rules. */
  enrol(
    owner: { readonly name: string; readonly keyId: string; readonly privateKey: KeyObject },
    vaultId: string,
  ): EnrolledPasskey {
    const challenge = enrolmentChallenge(randomBytes(32));
    const found = readRegistration(this.register(challenge), challenge, PLACE);
    const passkey = {
      ...found,
      operator: owner.name,
      operatorKeyId: owner.keyId,
      name: `key of ${owner.name}`,
      enrolledAt: "2026-01-01T00:00:00.000Z",
    };
    return signEnrolment(passkey, vaultId, { sign: (bytes) => sign(null, bytes, owner.privateKey) });
  }

  coseKey(): Buffer {
    const jwk = this.publicKey.export({ format: "jwk" });
    const bytes = (text: string | undefined): Buffer =>
      Buffer.concat([Buffer.from([0x58, 32]), Buffer.from(text ?? "", "base64url")]);
    return this.algorithm === "ES256"
      ? Buffer.concat([
          Buffer.from("a5010203262001", "hex"),
          Buffer.from([0x21]),
          bytes(jwk.x),
          Buffer.from([0x22]),
          bytes(jwk.y),
        ])
      : Buffer.concat([Buffer.from("a4010103272006", "hex"), Buffer.from([0x21]), bytes(jwk.x)]);
  }

  private data(
    { rpId = PLACE.rpId, flags = PRESENT_AND_VERIFIED, counter = this.counter, more }: Bent,
    attested?: Buffer,
  ): Buffer {
    const count = Buffer.alloc(4);
    count.writeUInt32BE(counter);
    return Buffer.concat([
      hashRpId(rpId),
      Buffer.from([flags]),
      count,
      attested ?? Buffer.alloc(0),
      more ?? Buffer.alloc(0),
    ]);
  }

  private clientData(type: string, challenge: Buffer, bent: Bent): Buffer {
    const data = {
      type: bent.type ?? type,
      challenge: (bent.challenge ?? challenge).toString("base64url"),
      origin: bent.origin ?? PLACE.origin,
      crossOrigin: false,
      ...bent.clientData,
    };
    return Buffer.from(JSON.stringify(data), "utf8");
  }
}
