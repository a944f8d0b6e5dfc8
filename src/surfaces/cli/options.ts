import { Fault } from "../../kernel/failure.ts";
import type { Door, Place } from "../place/place.ts";

/** The options that every command has. */
export interface BaseOptions {
  readonly home: string;
  readonly json: boolean;
  /** Where the gateway of this home answers, and as which user; a command that asks it nothing may go without. */
  readonly place?: Place;
}

export function agentDoor(options: Pick<BaseOptions, "place">): Door {
  return placeOf(options).agent;
}

export function operatorDoor(options: Pick<BaseOptions, "place">): Door {
  return placeOf(options).operator;
}

function placeOf({ place }: Pick<BaseOptions, "place">): Place {
  if (place === undefined) throw new Fault("nobody looked where the gateway answers");
  return place;
}

export interface OperatorOptions extends BaseOptions {
  readonly operator?: string;
  readonly passphraseFile?: string;
}

/** Where `gw console` answers. */
export interface ConsoleOptions extends OperatorOptions {
  /** The address of a hub's database, instead of the one gateway of this home. */
  readonly hub?: string;
  readonly hubPasswordFile?: string;
  readonly hubCa?: string;
  readonly port: number;
  /** An address of this machine that others reach. */
  readonly listen?: string;
  /** The https:// address that they type. */
  readonly origin?: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  /** Prints a link, once, to enrol a passkey at that origin. */
  readonly enrol?: boolean;
}
