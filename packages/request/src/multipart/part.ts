import type { Digest } from "../../../../src/kernel/canonical-json.ts";
import { defaults } from "../../../../src/kernel/defaults.ts";
import { Fault } from "../../../../src/kernel/failure.ts";
import type { JsonValue } from "../../../../src/kernel/json.ts";
import { compileSchema, type JsonSchema, type SchemaCheck } from "../schema.ts";
import type { FromSchema } from "../schema-type.ts";

/** Each route chooses what a part's own Content-Type may be: none, any claim, or a required one of a list. */
export type PartTypeRule = "refused" | "optional" | readonly string[];

interface AnyPart {
  readonly optional?: boolean;
  readonly maxBytes?: number;
  readonly contentType: PartTypeRule;
}

export type PartDeclaration =
  | (AnyPart & { readonly kind: "file"; readonly filename: "required" | "optional" | "refused" })
  | (AnyPart & { readonly kind: "json"; readonly schema: JsonSchema })
  | (AnyPart & { readonly kind: "text"; readonly schema: JsonSchema });

/** How a file stands in the command: what was measured, and beside it what was claimed. */
export interface FileInCommand {
  readonly size: number;
  readonly digest: Digest;
  readonly claimed_name: string | null;
  readonly claimed_type: string | null;
}

export type PartValue<Part> = PartContent<Part> | (Part extends { readonly optional: true } ? undefined : never);

type PartContent<Part> = Part extends { readonly kind: "file" }
  ? FileInCommand
  : Part extends { readonly schema: infer Schema }
    ? FromSchema<Schema>
    : JsonValue;

export interface CompiledPart {
  readonly kind: PartDeclaration["kind"];
  readonly optional: boolean;
  readonly maxBytes: number;
  readonly contentType: PartTypeRule;
  readonly filename: "required" | "optional" | "refused";
  readonly check: SchemaCheck;
}

export function compilePart(name: string, part: PartDeclaration): CompiledPart {
  if (!/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/.test(name)) throw new Fault(`part ${name}: not a plain name`);
  const isFile = part.kind === "file";
  return {
    kind: part.kind,
    optional: part.optional ?? false,
    maxBytes: part.maxBytes ?? (isFile ? defaults.multipartFileBytes : defaults.multipartFieldBytes),
    contentType: part.contentType,
    filename: isFile ? part.filename : "refused",
    check: isFile ? () => [] : compileSchema(part.schema),
  };
}

/** Where a file's bytes go while they arrive. Without one they are kept in memory, bounded by the part's limit. */
export interface FileSink {
  /** `bytes` is a view of what arrived and stays as it is; a promise holds back the sender until it resolves. */
  write(bytes: Buffer): void | Promise<void>;
  end(): void | Promise<void>;
  /** The request was refused after all: drop what was written. */
  abort(): void;
}

export type OpenFile = (part: string) => FileSink;
