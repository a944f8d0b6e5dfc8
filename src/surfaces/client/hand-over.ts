import type { KeyObject } from "node:crypto";
import type { Socket } from "node:net";
import { judgeServer, requireProof, type ServerSeen, type ServerWanted } from "../../conventions/caller/server.ts";
import type { Random } from "../../kernel/clock.ts";
import type { OpenOperator } from "../../vault/operator.ts";
import { proofAnswer, type Status, statusAnswer } from "../operator/answers.ts";
import type { Door } from "../place/place.ts";
import { openSingle } from "./connection.ts";
import { logIn, signerOf } from "./login.ts";

/** What a client knows of the gateway that it is about to trust with the service key. */
export interface ServerCheck {
  see(socket: Socket): Promise<ServerSeen>;
  readonly wanted: ServerWanted;
  readonly proofKey: KeyObject;
  /** The person says that this gateway was just started by themselves. */
  readonly first: boolean;
  readonly random: Random;
}

/** Hands over the service key on one connection, after whoever is at its other end has been proven, and on no other. */
export async function handOver(to: Door, operator: OpenOperator, check: ServerCheck): Promise<Status> {
  const { connection, socket } = await openSingle(to);
  try {
    const seen = await check.see(socket);
    const judged = judgeServer(seen, check.wanted);
    const headers = { authorization: `Bearer ${await logIn(connection, signerOf(operator))}` };
    if (judged === "must_prove") {
      const nonce = check.random.bytes(32).toString("base64url");
      const asked = { headers, body: { nonce } };
      const { proof } = await connection.ask(proofAnswer, "POST", "/v1/server-proof", asked);
      requireProof(proof, check.proofKey, nonce, seen.pid, check.first);
    }
    const service_key = operator.serviceKey.use((bytes) => bytes.toString("base64"));
    return await connection.ask(statusAnswer, "POST", "/v1/unlock", { headers, body: { service_key } });
  } finally {
    connection.close();
    socket.destroy();
  }
}
