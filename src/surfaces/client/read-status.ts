import type { JsonObject } from "../../kernel/json.ts";
import type { Door } from "../place/place.ts";
import { openConnection } from "./connection.ts";

/** The status that anybody who can open the socket may read. */
export async function readStatus(door: Door): Promise<JsonObject> {
  const connection = openConnection(door);
  try {
    return (await connection.ask("GET", "/v1/status")).body as JsonObject;
  } finally {
    connection.close();
  }
}
