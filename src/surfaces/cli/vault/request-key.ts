import { replaceRequestKey } from "../../../vault/operator-change.ts";
import { answering } from "../answer.ts";
import { type CliIo, type Exit, exits } from "../io.ts";
import { applyChange, say, type VaultCliPorts, type VaultOptions, withOperator } from "./session.ts";

/** `gw ssh new-key`: another key for the requests to hosts, such as after somebody who knew the vault has left. */
export function runNewRequestKey(options: VaultOptions, io: CliIo, ports: VaultCliPorts): Promise<Exit> {
  return answering(io, () =>
    withOperator(options, io, ports, async (session) => {
      const news = { what: "request_key_replaced", subject: "request key" };
      const { requestKey, generation } = await applyChange(session, ports, news, (vault) => ({
        vault: replaceRequestKey(vault, session.operator, ports),
      }));
      const gateway_key = requestKey?.publicKey ?? null;
      say(io, options.json, { gateway_key, generation }, `"gateway_key": ${JSON.stringify(gateway_key)}`);
      io.err("Put it into the manifest of every host that pins the old one: until then they refuse every request.");
      return exits.done;
    }),
  );
}
