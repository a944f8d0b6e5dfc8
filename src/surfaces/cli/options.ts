import { join } from "node:path";
import type { Door, Place } from "../place/place.ts";

/** The options that every command has. */
export interface BaseOptions {
  readonly home: string;
  readonly json: boolean;
  /** Where the gateway of this home answers; without it, at the usual names in the home. */
  readonly place?: Place;
}

export function agentDoor({ home, place }: Pick<BaseOptions, "home" | "place">): Door {
  return place?.agent ?? { path: join(home, "agent.sock") };
}

export function operatorDoor({ home, place }: Pick<BaseOptions, "home" | "place">): Door {
  return place?.operator ?? { path: join(home, "operator.sock") };
}

export interface OperatorOptions extends BaseOptions {
  readonly operator?: string;
  readonly passphraseFile?: string;
}
