import { Denied } from "../../kernel/failure.ts";

/** A word or an option that the command does not take as it was typed: wrong usage, and never the gateway's answer. */
export class Misused extends Denied {
  constructor(message: string) {
    super("value_not_allowed", message);
  }
}
