import { parseJson } from "../../conventions/request/json/parse.ts";
import { compileSchema, type JsonSchema, type SchemaCheck } from "../../conventions/request/schema.ts";
import type { FromSchema } from "../../conventions/request/schema-type.ts";
import { Denied } from "../../kernel/failure.ts";
import type { AskOptions, Connection } from "./connection.ts";

const checks = new WeakMap<JsonSchema, SchemaCheck>();

/** One answer, read as strictly as the planes read requests, and typed by what the route declares of it. */
export async function askStrictly<const Schema extends JsonSchema>(
  connection: Pick<Connection, "bytes">,
  answer: Schema,
  method: "GET" | "POST",
  path: string,
  options: AskOptions = {},
): Promise<FromSchema<Schema>> {
  const bytes = await connection.bytes(method, path, options);
  const check = checks.get(answer) ?? compileSchema(answer);
  checks.set(answer, check);
  try {
    const { value, spelling } = parseJson(bytes);
    const [first] = check(value, spelling);
    if (first === undefined) return value as FromSchema<Schema>;
    return unfit(path, `${first.path || "it"}: ${first.message}`);
  } catch (error) {
    if (error instanceof Denied && error.code !== "internal_fault") return unfit(path, error.message);
    throw error;
  }
}

function unfit(path: string, why: string): never {
  throw new Denied(
    "internal_fault",
    `What the gateway answered to ${path} is not what it declares (${why}). Nothing was signed. Use the gw of the version that the gateway runs: gw status.`,
  );
}
