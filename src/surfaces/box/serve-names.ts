import type { Socket } from "node:dgram";
import { createNames } from "../../conventions/box/answer-dns.ts";

/** Answers every question for a name that is asked in a box. */
export function serveNames(socket: Socket): void {
  const names = createNames();
  socket.on("error", () => undefined);
  socket.on("message", (query, from) => {
    const answer = names.answer(query);
    if (answer !== null) socket.send(answer, from.port, from.address, () => undefined);
  });
}
