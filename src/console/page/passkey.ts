import { ask, enter, Refused } from "./api.ts";

const encode = (bytes: ArrayBuffer): string =>
  btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
const decode = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0));

export interface PasskeyAsked {
  readonly challenge: string;
  readonly rp_id: string;
  readonly credentials: readonly string[];
}

/** Has the authenticator answer for exactly what is about to be signed. */
export async function answerWith(asked: PasskeyAsked): Promise<unknown> {
  const credential = (await prompt(() =>
    navigator.credentials.get({
      publicKey: {
        challenge: decode(asked.challenge),
        rpId: asked.rp_id,
        userVerification: "required",
        allowCredentials: asked.credentials.map((id) => ({ type: "public-key", id: decode(id) })),
      },
    }),
  )) as PublicKeyCredential;
  const answer = credential.response as AuthenticatorAssertionResponse;
  return {
    credential_id: encode(credential.rawId),
    authenticator_data: encode(answer.authenticatorData),
    client_data: encode(answer.clientDataJSON),
    signature: encode(answer.signature),
  };
}

/** Beyond the operator's machine: enters with a passkey, and with nothing that is typed. */
export async function login(): Promise<void> {
  const asked = (await ask("POST", "/api/login/begin")) as PasskeyAsked;
  await enter("/api/login/finish", { challenge: asked.challenge, assertion: await answerWith(asked) });
}

/** Makes a passkey in the authenticator, and has the operator's key sign for it. */
export async function enrol(name: string, meant: (path: string) => Promise<unknown>): Promise<void> {
  const asked = (await meant("/api/passkeys/begin")) as {
    readonly challenge: string;
    readonly rp_id: string;
    readonly user: string;
    readonly user_id: string;
    readonly resident: boolean;
    readonly known: readonly string[];
  };
  const credential = (await prompt(() =>
    navigator.credentials.create({
      publicKey: {
        challenge: decode(asked.challenge),
        rp: { id: asked.rp_id, name: "gw" },
        user: { id: decode(asked.user_id), name: asked.user, displayName: asked.user },
        pubKeyCredParams: [
          { type: "public-key", alg: -8 },
          { type: "public-key", alg: -7 },
        ],
        authenticatorSelection: {
          userVerification: "required",
          residentKey: asked.resident ? "required" : "preferred",
        },
        attestation: "none",
        excludeCredentials: asked.known.map((id) => ({ type: "public-key", id: decode(id) })),
      },
    }),
  )) as PublicKeyCredential;
  const made = credential.response as AuthenticatorAttestationResponse;
  await ask("POST", "/api/passkeys/finish", {
    name,
    authenticator_data: encode(made.getAuthenticatorData()),
    client_data: encode(made.clientDataJSON),
  });
}

async function prompt(work: () => Promise<Credential | null>): Promise<Credential> {
  try {
    const credential = await work();
    if (credential !== null) return credential;
  } catch (error) {
    if (error instanceof DOMException && error.name === "InvalidStateError") {
      throw new Refused("passkey_known", "This authenticator is enrolled already.");
    }
  }
  throw new Refused(
    "passkey_cancelled",
    "The passkey did not answer: it was cancelled, or took too long. Nothing was signed.",
  );
}
