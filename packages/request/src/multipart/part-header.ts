import { isUtf8 } from "node:buffer";
import { hasControl } from "../../../../src/conventions/url/encode.ts";
import { Denied } from "../../../../src/kernel/failure.ts";

export interface PartHeader {
  readonly name: string;
  /** What the sender calls the file: a label, checked not to be a path. */
  readonly filename: string | undefined;
  /** What the sender claims the content to be; never a classification. */
  readonly contentType: string | undefined;
}

const FIELD = /^([A-Za-z-]{1,40}):[ \t]?([^\r\n]*)$/;
const DISPOSITION = /^form-data; ?name="([^"\\]*)"(?:; ?filename="([^"\\]*)")?$/;
const FILENAME_LENGTH = 255;

/** Content-Disposition once, Content-Type at most once, nothing else. */
export function readPartHeader(block: Buffer): PartHeader {
  if (!isUtf8(block)) throw refused("a part's header is not UTF-8");
  let disposition: RegExpExecArray | undefined;
  let contentType: string | undefined;
  for (const line of block.toString("utf8").split("\r\n")) {
    const [, field, value] = FIELD.exec(line) ?? [];
    if (field === undefined || value === undefined || hasControl(value)) throw refused("a part's header is malformed");
    switch (field.toLowerCase()) {
      case "content-disposition":
        if (disposition !== undefined) throw refused("Content-Disposition came more than once in a part");
        disposition = DISPOSITION.exec(value) ?? undefined;
        if (disposition === undefined) {
          throw refused('Content-Disposition is not form-data; name="…" with an optional filename="…"');
        }
        continue;
      case "content-type":
        if (contentType !== undefined) throw refused("Content-Type came more than once in a part");
        contentType = value;
        continue;
    }
    throw refused("a part carries a field other than Content-Disposition and Content-Type");
  }
  if (disposition === undefined) throw refused("a part has no Content-Disposition");
  const filename = disposition[2];
  if (filename !== undefined && !isLabel(filename)) {
    throw refused("a filename is a label: not empty, at most 255 characters, no slash, no backslash, not dots alone");
  }
  return { name: disposition[1] ?? "", filename, contentType };
}

function isLabel(filename: string): boolean {
  if (/^\.*$/.test(filename)) return false;
  return filename.length <= FILENAME_LENGTH && !/[/\\]/.test(filename);
}

export function refused(message: string): Denied {
  return new Denied("part_header_refused", message);
}
