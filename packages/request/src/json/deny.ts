import { Denied } from "../../../../src/kernel/failure.ts";
import { appendPointer, shortenPointer } from "../pointer.ts";

export type JsonTrouble =
  | { readonly kind: "malformed"; readonly expected: string }
  | { readonly kind: "duplicate"; readonly name: string }
  | { readonly kind: "too_deep"; readonly limit: number }
  | { readonly kind: "number"; readonly expected: string };

const codeOf = {
  malformed: "json_malformed",
  duplicate: "json_duplicate_member",
  too_deep: "json_too_deep",
  number: "json_number_out_of_range",
} as const;

/** Every refusal names the byte offset and the JSON Pointer of the place, and repeats nothing else that was sent. */
export function denyJson(before: string, path: string, trouble: JsonTrouble): never {
  const offset = Buffer.byteLength(before, "utf8");
  const code = codeOf[trouble.kind];
  const place = trouble.kind === "duplicate" ? appendPointer(path, trouble.name) : path;
  const message = `byte ${offset}: ${describe(trouble)}`;
  const errors = [{ code, path: shortenPointer(place), message }];
  throw new Denied(code, message, { errors, extra: { offset } });
}

function describe(trouble: JsonTrouble): string {
  switch (trouble.kind) {
    case "malformed":
      return `expected ${trouble.expected}`;
    case "duplicate":
      return "this member was named before in the same object";
    case "too_deep":
      return `nested deeper than ${trouble.limit}`;
    case "number":
      return `expected ${trouble.expected}; send larger or more exact numbers as strings`;
  }
}
