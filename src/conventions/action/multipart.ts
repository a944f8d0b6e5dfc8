import { createHash } from "node:crypto";
import { type Digest, digestBytes } from "../../kernel/canonical-json.ts";

export interface Part {
  readonly name: string;
  readonly bytes: Buffer;
  /** Null for a plain field. */
  readonly filename: string | null;
  readonly mediaType: string | null;
}

export interface MultipartBody {
  readonly mediaType: string;
  readonly bytes: Buffer;
}

export interface PartDigest {
  readonly name: string;
  readonly filename: string | null;
  readonly media_type: string | null;
  readonly bytes: number;
  readonly digest: Digest;
}

/** The same parts always give the same bytes: the boundary is drawn from them, so that a retry sends what was approved. */
export function writeMultipart(parts: readonly Part[]): MultipartBody {
  const boundary = chooseBoundary(parts);
  const chunks: Buffer[] = [];
  for (const part of parts) {
    const filename = part.filename === null ? "" : `; filename="${part.filename}"`;
    const type = part.mediaType === null ? "" : `\r\nContent-Type: ${part.mediaType}`;
    chunks.push(
      Buffer.from(
        `--${boundary}\r\nContent-Disposition: form-data; name="${part.name}"${filename}${type}\r\n\r\n`,
        "utf8",
      ),
    );
    chunks.push(part.bytes, Buffer.from("\r\n", "utf8"));
  }
  chunks.push(Buffer.from(`--${boundary}--\r\n`, "utf8"));
  return { mediaType: `multipart/form-data; boundary=${boundary}`, bytes: Buffer.concat(chunks) };
}

export function digestPart(part: Part): PartDigest {
  const { name, filename, mediaType, bytes } = part;
  return { name, filename, media_type: mediaType, bytes: bytes.byteLength, digest: digestBytes(bytes) };
}

function chooseBoundary(parts: readonly Part[]): string {
  for (let round = 0; ; round++) {
    const hash = createHash("sha256").update(`gw-multipart-${round}`);
    for (const { name, bytes } of parts) hash.update(`\0${name}\0${bytes.byteLength}\0`).update(bytes);
    const boundary = `gw-${hash.digest("hex").slice(0, 40)}`;
    if (!parts.some(({ bytes }) => bytes.includes(boundary))) return boundary;
  }
}
