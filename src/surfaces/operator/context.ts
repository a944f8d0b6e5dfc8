import type { Login } from "./logins.ts";

/** Who speaks on the operator plane; `login` throws unless an operator has proven their key. */
export interface OperatorContext {
  readonly name: string;
  login(): Login;
}
