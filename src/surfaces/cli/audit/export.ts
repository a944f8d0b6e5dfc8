import type { KeyObject } from "node:crypto";
import { exportLine } from "../../../audit/export.ts";
import { openReader } from "../../../audit/read/reader.ts";
import { type CliIo, type Exit, exits } from "../io.ts";

export interface AuditExportOptions {
  readonly log: string;
  /** Shows who decided; without it names of people are left out. */
  readonly people?: boolean;
}

/** `gw audit export`: JSON lines, redacted by the class of each field. Exit 1 when a part could not be read. */
export async function runAuditExport(options: AuditExportOptions, readingKey: KeyObject, io: CliIo): Promise<Exit> {
  let gaps = 0;
  const reader = openReader(options.log, readingKey);
  try {
    for await (const item of reader) {
      if (item.kind === "unreadable") gaps++;
      const line = exportLine(item, { people: options.people === true });
      if (line !== undefined) io.out(line);
    }
  } finally {
    reader.close();
  }
  if (gaps > 0) io.err(`${gaps} parts of the log could not be read with this key; each is a line of its own.`);
  return gaps > 0 ? exits.denied : exits.done;
}
