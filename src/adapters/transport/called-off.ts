import type { SendLimits } from "../../gateway/ports.ts";
import { Denied } from "../../kernel/failure.ts";

/** Why nothing is sent any more although everything is ready for it; null where it still may be. */
export function calledOff({ still }: Pick<SendLimits, "still">): string | null {
  try {
    still?.();
    return null;
  } catch (error) {
    if (error instanceof Denied) return `${error.code}: ${error.message}`;
    throw error;
  }
}
