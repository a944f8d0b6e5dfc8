import type { Server, Socket } from "node:net";
import { defaults } from "../../kernel/defaults.ts";
import { knock } from "../client/connection.ts";
import type { Door } from "../place/place.ts";

/** The agent socket inside a box. What is said there is said by this program: it has been approved, and what runs in there was not seen. */
export function relayAgent(inside: Server, door: Door): void {
  inside.maxConnections = defaults.boxRelayed;
  inside.on("connection", (near: Socket) => {
    near.pause();
    near.on("error", () => undefined);
    knock(door, (error, far) => {
      if (error !== null || near.destroyed) {
        near.destroy();
        far.destroy();
        return;
      }
      far.on("error", () => undefined);
      near.pipe(far).pipe(near);
      near.once("close", () => far.destroy());
      far.once("close", () => near.destroy());
    });
  });
}
