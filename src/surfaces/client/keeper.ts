import type { KeyObject } from "node:crypto";
import type { JsonSchema } from "../../../packages/request/src/schema.ts";
import type { LoginStatement, Signed } from "../../conventions/approval/decision.ts";
import { Denied } from "../../kernel/failure.ts";
import type { JsonValue } from "../../kernel/json.ts";
import type { Secret } from "../../kernel/secret.ts";
import { type Compartment, readCompartment } from "../../vault/compartment.ts";
import { privateKeyOf } from "../../vault/keys.ts";
import { goneAnswer, keysAnswer, loginAnswer, readingKeyAnswer, signedLoginAnswer } from "../keeper/answers.ts";
import type { Door } from "../place/place.ts";
import { openSingle, Unreachable } from "./connection.ts";

/** The program behind `gw login`, asked by another program of the same operator. */
export interface Keeper {
  readonly operator: string;
  readonly keyId: string;
  readonly vaultId: string;
  readonly hasPin: boolean;
  readonly leftMs: number;
  readingKey(): Promise<KeyObject>;
  /** A login at the gateway that may look at everything and do nothing. */
  signReading(challenge: string): Promise<Signed<LoginStatement>>;
  /** All keys, for one command that the person confirmed with the PIN. */
  open(pin: Secret): Promise<Compartment>;
  logout(): Promise<void>;
  close(): void;
}

/**
 * Null where nobody is logged in. `show` lets the other end see which program asks, while nothing secret is here yet; everything
 * after that goes over the same connection.
 */
export async function findKeeper(
  door: Door,
  show: <Result>(connect: () => Promise<Result>) => Promise<Result>,
): Promise<Keeper | null> {
  const found = await show(async () => {
    try {
      const { connection } = await openSingle(door);
      return { connection, login: await connection.ask(loginAnswer, "GET", "/v1/login") };
    } catch (error) {
      if (error instanceof Unreachable || (error instanceof Denied && error.code === "login_over")) return null;
      throw error;
    }
  });
  if (found === null) return null;
  const { connection, login } = found;
  const post = async <const Schema extends JsonSchema>(answer: Schema, path: string, body?: JsonValue) => {
    try {
      return await connection.ask(answer, "POST", path, body === undefined ? {} : { body });
    } catch (error) {
      if (!(error instanceof Unreachable)) throw error;
      throw new Denied("login_over", "Your login ended while this command waited, and nothing was done. Run it again.");
    }
  };
  return {
    operator: login.operator,
    keyId: login.operator_key_id,
    vaultId: login.vault_id,
    hasPin: login.has_pin,
    leftMs: login.left_ms,
    async readingKey() {
      const raw = Buffer.from((await post(readingKeyAnswer, "/v1/reading-key")).key, "base64");
      const key = privateKeyOf("x25519", raw);
      raw.fill(0);
      return key;
    },
    signReading: (challenge) => post(signedLoginAnswer, "/v1/reading-login", { vault_id: login.vault_id, challenge }),
    async open(pin) {
      const typed = pin.use((bytes) => bytes.toString("utf8"));
      const opened = await post(keysAnswer, "/v1/open", { pin: typed });
      const plain = Buffer.from(opened.keys, "base64");
      const keys = readCompartment(plain);
      plain.fill(0);
      return keys;
    },
    logout: async () => void (await post(goneAnswer, "/v1/logout")),
    close: () => connection.close(),
  };
}
