import type { Code } from "../../../kernel/codes.ts";
import { Denied, type Finding } from "../../../kernel/failure.ts";
import { placed } from "../document/read-document.ts";
import type { Source } from "../document/source.ts";

const SHOWN = 25;

/** Everything wrong with one document, told at once and with places, so that it is mended in one go. */
export interface Troubles {
  add(code: Code, node: object | undefined, pointer: string, message: string): void;
  /** Throws when anything was added. */
  settle(): void;
}

export function createTroubles(source: Source): Troubles {
  const found = new Map<string, Finding>();
  return {
    add(code, node, pointer, message) {
      const place = placed(source.name, node === undefined ? undefined : source.positionOf(node));
      const text = `${place}: ${message}`;
      found.set(`${code} ${text}`, { code, path: pointer, message: text });
    },
    settle() {
      const errors = [...found.values()];
      const first = errors[0];
      if (first === undefined) return;
      const code = errors.every((error) => error.code === first.code) ? first.code : "document_invalid";
      const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : "";
      throw new Denied(code, `${first.message}${more}`, { errors: errors.slice(0, SHOWN) });
    },
  };
}
