import type { KeyObject } from "node:crypto";
import { exportLine } from "../../../audit/export.ts";
import { extentOf } from "../../../audit/read/place.ts";
import { openReader } from "../../../audit/read/reader.ts";
import { type CliIo, type Exit, exits } from "../io.ts";
import { progressBar } from "../progress-bar.ts";

export interface AuditExportOptions {
  readonly log: string;
  /** Shows who decided; without it names of people are left out. */
  readonly people?: boolean;
}

const FRAMES_A_TURN = 16;

/** `gw audit export`: JSON lines, redacted by the class of each field. Exit 1 when a part could not be read. */
export async function runAuditExport(options: AuditExportOptions, readingKey: KeyObject, io: CliIo): Promise<Exit> {
  let gaps = 0;
  const reader = openReader(options.log, readingKey);
  // A pager at the other end of a pipe would be drawn over.
  const bar = progressBar(io.intoFile === true ? (io.status ?? null) : null);
  const { total, before } = extentOf(options.log);
  try {
    for (let frames = 1, items = reader.next(); items !== undefined; items = reader.next(), frames++) {
      for (const item of items) {
        if (item.kind === "unreadable") gaps++;
        const line = exportLine(item, { people: options.people === true });
        if (line !== undefined) io.out(line);
      }
      if (frames % FRAMES_A_TURN !== 0) continue;
      const at = reader.at();
      if (at !== undefined) bar.show(before(at), total);
      // Whoever ends the command is heard.
      await new Promise((resolve) => setImmediate(resolve));
    }
  } finally {
    bar.clear();
    reader.close();
  }
  if (gaps > 0) io.err(`${gaps} parts of the log could not be read with this key; each is a line of its own.`);
  return gaps > 0 ? exits.denied : exits.done;
}
