import { existsSync } from "node:fs";
import { join } from "node:path";
import { openCursor } from "../frame/cursor.ts";
import { HEADER_BYTES, LINK_BYTES, MAGIC, segmentName } from "../frame/layout.ts";
import { openReadFile } from "../node-files.ts";
import type { Head } from "../receipt.ts";
import { hashesToLink } from "./scan.ts";

/**
 * Whether the log in a folder leads from a head that was found good to a later one. By its links alone: the later one hashes all that
 * stands before it, so that it is of no other log.
 */
export function leadsTo(folder: string, from: Head, to: Pick<Head, "frame" | "link">): boolean {
  let link: string | null = null;
  for (let segment = from.segment; existsSync(join(folder, segmentName(segment))); segment++) {
    const file = openReadFile(join(folder, segmentName(segment)));
    try {
      const cursor = openCursor(file);
      const begins = cursor?.buffer.toString("hex", MAGIC.length, MAGIC.length + LINK_BYTES);
      if (cursor === undefined || (link !== null && begins !== link)) return false;
      while (cursor.next() === "frame") {
        const { buffer, at, header } = cursor;
        if (header.frame < from.frame) continue;
        const end = at + HEADER_BYTES + header.bodyLength;
        const own = buffer.toString("hex", end, end + LINK_BYTES);
        const follows = link === null ? header.frame === from.frame && own === from.link : hashesToLink(cursor);
        if (!follows) return false;
        if (header.frame === to.frame) return own === to.link;
        link = own;
      }
    } finally {
      file.close();
    }
  }
  return false;
}
