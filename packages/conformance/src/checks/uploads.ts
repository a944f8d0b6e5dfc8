import { createHash } from "node:crypto";
import { type Check, isRefusal, isSuccess, type Kit, type Reply } from "../check.ts";

interface Part {
  readonly name: string;
  readonly filename?: string;
  readonly content: string;
}

const content = "conformance\n";
const file: Part = { name: "file", filename: "conformance.bin", content };

function upload(kit: Kit, parts: readonly Part[]): Promise<Reply> {
  const boundary = "conformance-boundary";
  const body = parts.map(({ name, filename, content: text }) => {
    const named = filename === undefined ? "" : `; filename="${filename}"`;
    return `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${named}\r\n\r\n${text}\r\n`;
  });
  return kit.send({
    method: "POST",
    target: kit.profile.upload?.target ?? "/",
    headers: { "content-type": `multipart/form-data; boundary=${boundary}` },
    body: `${body.join("")}--${boundary}--\r\n`,
  });
}

function manifestOf(kit: Kit): Part {
  return { name: "manifest", content: JSON.stringify(kit.profile.upload?.manifest ?? {}) };
}

function refuses(name: string, rule: string, parts: (manifest: Part) => readonly Part[]): Check {
  return {
    name,
    rule: `Request handling 7: ${rule}`,
    needs: "upload",
    async run(kit: Kit) {
      kit.expect(isRefusal(await upload(kit, parts(manifestOf(kit)))), "refused");
    },
  };
}

export const uploadChecks: readonly Check[] = [
  {
    name: "upload.digest",
    rule: "Reference actions: one file and one manifest are accepted, and the answer names the digest",
    needs: "upload",
    async run(kit: Kit) {
      const reply = await upload(kit, [file, manifestOf(kit)]);
      kit.expect(isSuccess(reply), "one file and one manifest are accepted");
      kit.expect(
        reply.text.includes(createHash("sha256").update(content).digest("hex")),
        "the answer holds the file's SHA-256",
      );
    },
  },
  refuses("upload.unknown_part", "unknown part names are rejected", (manifest) => [
    file,
    manifest,
    { name: "extra", content: "1" },
  ]),
  refuses("upload.repeated_part", "duplicates of singleton parts are rejected", (manifest) => [
    file,
    manifest,
    manifest,
  ]),
  refuses("upload.path_filename", "the filename is not a path", (manifest) => [
    { ...file, filename: "../conformance.bin" },
    manifest,
  ]),
  refuses("upload.missing_part", "exactly one file and one manifest", () => [file]),
];
