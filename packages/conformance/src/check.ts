/**
 * The conformance kit: the conventions as named checks that can be run against any provider. A check cites its rule, sends
 * a few requests, and says what it expected; what was sent and answered is kept, so that a failure can be looked at.
 */
import type { JsonObject, JsonValue } from "../../../src/kernel/json.ts";
import type { Profile } from "./profile.ts";

export interface Probe {
  readonly method: string;
  /** As it goes on the wire: nothing is encoded or normalized on the way. */
  readonly target: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** Null sends none; absent sends the kit's own. */
  readonly token?: string | null;
}

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** Undefined when the body is not JSON. */
  readonly json: JsonValue | undefined;
}

/** One request and its answer, without the credential and cut to a readable size. */
export interface CheckedExchange {
  readonly sent: {
    readonly method: string;
    readonly target: string;
    readonly headers: JsonObject;
    readonly body: string;
  };
  readonly answered: { readonly status: number; readonly headers: JsonObject; readonly body: string } | null;
}

export type Send = (probe: Probe) => Promise<Reply>;

/** What a check works with. */
export interface Kit {
  readonly profile: Profile;
  readonly token: string | null;
  send: Send;
  json(method: string, target: string, body: JsonValue, headers?: Readonly<Record<string, string>>): Promise<Reply>;
  /** A fresh idempotency token. */
  key(): string;
  expect(holds: boolean, expected: string): asserts holds;
}

export type Role = keyof Profile;

export interface Check {
  readonly name: string;
  /** The rule of the specification that it stands for. */
  readonly rule: string;
  /** What the provider's profile must describe; without it the check is skipped. */
  readonly needs: Role;
  run(kit: Kit): Promise<void>;
}

/** Thrown by `expect`; anything else that a check throws is trouble of the connection and fails it as well. */
export class Unmet extends Error {
  override readonly name = "Unmet";
}

export function isRefusal({ status }: Reply): boolean {
  return status >= 400 && status < 500 && status !== 429;
}

export function isSuccess({ status }: Reply): boolean {
  return status >= 200 && status < 300;
}

/** A member of a JSON object, by path; undefined when it is not there. */
export function memberOf(value: JsonValue | undefined, ...path: readonly (string | number)[]): JsonValue | undefined {
  let at: JsonValue | undefined = value;
  for (const name of path) {
    if (typeof at !== "object" || at === null) return undefined;
    at = (at as Readonly<Record<string | number, JsonValue>>)[name];
  }
  return at;
}

export function textOf(value: JsonValue | undefined, ...path: readonly (string | number)[]): string {
  const found = memberOf(value, ...path);
  return typeof found === "string" ? found : "";
}
