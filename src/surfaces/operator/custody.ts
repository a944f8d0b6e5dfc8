import type { FromSchema } from "../../../packages/request/src/schema-type.ts";
import type { homeAnswer } from "./answers.ts";
import type { Login } from "./logins.ts";

/** The gateway's home as operators of other users see it. */
export interface HomeCustody {
  read(): FromSchema<typeof homeAnswer>;
  change(change: SignedChange, login: Login): Promise<void>;
  logFiles(): readonly { readonly name: string; readonly size: number }[];
  readLog(name: string, from: number): Buffer;
}

/** Texts of vault.json and policy.json, and the packs that this policy names by digest. */
export interface SignedChange {
  readonly vault: string | null;
  readonly policy: string | null;
  readonly packs: readonly { readonly pack: string; readonly bytes: Buffer }[];
}
