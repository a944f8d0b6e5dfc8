import { hash } from "node:crypto";
import { FRAME_OVERHEAD_BYTES, type FrameType, HEADER_BYTES, LINK_BYTES, writeHeader } from "../frame/layout.ts";

/**
 * Lays frames out as `link_prev ‖ header ‖ body ‖ link` in one buffer, so that the link hashes one range. The link of a
 * frame is then moved to the front, where the next one needs it.
 */
export interface FrameBuilder {
  /** The number of the next frame, or of the one begun. */
  frame(): number;
  /** Of the last frame that was ended, in hex. */
  link(): string;
  begin(type: FrameType, flags: number, bodyLength: number): void;
  /** `header ‖ link_prev` of the frame begun, lent until the next one. */
  readonly additional: Buffer;
  add(bytes: Uint8Array): void;
  /** The frame's bytes, lent until the next `begin`. */
  end(): Buffer;
  build(type: FrameType, flags: number, body: Uint8Array): Buffer;
}

const ROOM_BYTES = 65_536;

export function startBuilder(linkBefore: Buffer, firstFrame: number): FrameBuilder {
  const additional = Buffer.alloc(HEADER_BYTES + LINK_BYTES);
  let room = Buffer.alloc(ROOM_BYTES);
  let link = linkBefore.toString("hex");
  let frame = firstFrame;
  let at = 0;
  linkBefore.copy(room);

  const self: FrameBuilder = {
    frame: () => frame,
    link: () => link,
    additional,
    begin(type, flags, bodyLength) {
      const needed = FRAME_OVERHEAD_BYTES + LINK_BYTES + bodyLength;
      if (needed > room.length) {
        const larger = Buffer.alloc(needed + ROOM_BYTES);
        room.copy(larger, 0, 0, LINK_BYTES);
        room = larger;
      }
      writeHeader(room, LINK_BYTES, { bodyLength, type, flags, frame });
      at = LINK_BYTES + HEADER_BYTES;
      room.copy(additional, 0, LINK_BYTES, at);
      room.copy(additional, HEADER_BYTES, 0, LINK_BYTES);
    },
    add(bytes) {
      room.set(bytes, at);
      at += bytes.length;
    },
    end() {
      // As text: making a string is the cheapest way to get a hash out of OpenSSL, and a head is told in hex anyway.
      link = hash("sha256", room.subarray(0, at), "hex");
      room.write(link, at, "hex");
      room.copyWithin(0, at, at + LINK_BYTES);
      frame++;
      return room.subarray(LINK_BYTES, at + LINK_BYTES);
    },
    build(type, flags, body) {
      self.begin(type, flags, body.length);
      self.add(body);
      return self.end();
    },
  };
  return self;
}
