import { connectDatabase, lookAtHub, readHub } from "../../../hub/connect.ts";
import { GATEWAY_ROLE, HUB_VERSION, hubSchema, hubUpgradeFrom, OPERATOR_ROLE } from "../../../hub/schema.ts";
import { answering } from "../answer.ts";
import type { CliDeps } from "../commands/deps.ts";
import { type Exit, exits } from "../io.ts";
import type { BaseOptions } from "../options.ts";
import { say } from "../vault/session.ts";
import { type HubLoginOptions, takeHubLogin } from "./login.ts";

/** `gw hub init URL`: the tables and roles, made by the database's owner. Gateways and operators get no right to change them. */
export function runHubInit(
  url: string,
  options: BaseOptions & HubLoginOptions,
  { io, random }: CliDeps,
): Promise<Exit> {
  return answering(io, async () => {
    const login = await takeHubLogin(url, options, io);
    const connection = await connectDatabase(login);
    try {
      const before = await lookAtHub(connection);
      if (before !== null && before.version < HUB_VERSION) await connection.ask(hubUpgradeFrom(before.version));
      const there = await readHub(connection);
      const hubId = there?.hubId ?? `hub_${random.bytes(16).toString("hex")}`;
      // Several statements in one simple query are one transaction.
      if (there === null) await connection.ask(hubSchema.replace("$HUB_ID$", `'${hubId}'`));
      say(
        io,
        options.json,
        { hub_id: hubId, made: there === null },
        `${there === null ? "Made" : "There is already"} ${hubId}.`,
      );
      if (!options.json) {
        io.out("Give each host a login of its own:");
        io.out(`  create role HOST login password '…' in role ${GATEWAY_ROLE};`);
        io.out("Give each operator a login of theirs:");
        io.out(`  create role NAME login password '…' in role ${OPERATOR_ROLE};`);
        io.out("Then, on each host: gw hub join URL");
      }
      return exits.done;
    } finally {
      await connection.close();
      login.password?.wipe();
    }
  });
}
