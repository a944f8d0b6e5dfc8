import { object } from "../../../packages/request/src/shape.ts";
import { type Status, statusAnswer } from "../operator/answers.ts";
import type { Door } from "../place/place.ts";
import { openConnection } from "./connection.ts";

/** The status that anybody who can open the socket may read. */
export async function readStatus(door: Door): Promise<Status> {
  const connection = openConnection(door);
  try {
    return await connection.ask(statusAnswer, "GET", "/v1/status");
  } finally {
    connection.close();
  }
}

const versionAnswer = {
  ...object({ version: statusAnswer.properties.version }),
  additionalProperties: true,
} as const;

/** Of a gateway of any version: the rest of its status may be none that this program can read. */
export async function readVersion(door: Door): Promise<string> {
  const connection = openConnection(door);
  try {
    return (await connection.ask(versionAnswer, "GET", "/v1/status")).version;
  } finally {
    connection.close();
  }
}

/** Whether what stopped it may pass, so that it can go on recording; a state that is damaged does not, and says what does. */
export function mayPass({ stopped_code: code }: Pick<Status, "stopped_code">): boolean {
  return code !== "store_unreadable";
}
