import type { Code } from "../../../../src/kernel/codes.ts";
import { type Hostile, sized, UPLOAD } from "./entry.ts";

const type = "Content-Type: multipart/form-data; boundary=XX";
const file =
  'Content-Disposition: form-data; name="file"; filename="a.bin"\r\nContent-Type: application/octet-stream\r\n\r\nDATA';
const manifest = 'Content-Disposition: form-data; name="manifest"\r\n\r\n{"version":"1"}';

export function multipart(...parts: readonly string[]): string {
  return `${parts.map((part) => `--XX\r\n${part}\r\n`).join("")}--XX--\r\n`;
}

function bad(name: string, body: string | Buffer, code: Code = "multipart_malformed", status = 400): Hostile {
  return { name: `multipart: ${name}`, status, code, send: sized(UPLOAD, [type], body) };
}

/** The file part with another header. */
function headed(name: string, header: string, code: Code = "part_header_refused", status = 400): Hostile {
  return bad(name, multipart(`${header}\r\n\r\nDATA`, manifest), code, status);
}

const named = 'Content-Disposition: form-data; name="file"';
const octets = "Content-Type: application/octet-stream";

export const multipartEntries: readonly Hostile[] = [
  bad("no bytes", ""),
  bad("the closing delimiter alone", "--XX--\r\n", "schema_violation", 422),
  bad("a preamble", `hello\r\n${multipart(file, manifest)}`),
  bad("a line end first", `\r\n${multipart(file, manifest)}`),
  bad("an epilogue", `${multipart(file, manifest)}more`),
  bad("a second message after the end", multipart(file, manifest) + multipart(file)),
  bad("no closing delimiter", multipart(file, manifest).slice(0, -6)),
  bad("cut inside the closing delimiter", multipart(file, manifest).slice(0, -3)),
  bad("cut inside a part", multipart(file, manifest).slice(0, 90)),
  bad("cut inside a header", multipart(file, manifest).slice(0, 20)),
  bad("another boundary", multipart(file, manifest).replaceAll("--XX", "--YY")),
  bad("the boundary in other case", multipart(file, manifest).replaceAll("--XX", "--xx")),
  bad("bare line feeds", multipart(file, manifest).replaceAll("\r\n", "\n")),
  bad("blanks after a delimiter", multipart(file, manifest).replace("--XX\r\n", "--XX \r\n")),
  bad("text after a delimiter", multipart(file, manifest).replace("--XX\r\n", "--XXY\r\n")),
  bad("a header of 3000 bytes", multipart(`X-Long: ${"a".repeat(3000)}\r\n\r\n`)),
  bad(
    "an unknown part",
    multipart(file, manifest, 'Content-Disposition: form-data; name="admin"\r\n\r\n1'),
    "schema_violation",
    422,
  ),
  bad("the same part twice", multipart(file, manifest, manifest), "repeated_name"),
  bad("two files", multipart(file, file, manifest), "repeated_name"),
  bad("a missing part", multipart(file), "schema_violation", 422),
  bad("a missing file", multipart(manifest), "schema_violation", 422),
  bad(
    "a manifest with a repeated member",
    multipart(file, manifest.replace("{", '{"version":"0",')),
    "json_duplicate_member",
  ),
  bad("a manifest with an unknown member", multipart(file, manifest.replace("{", '{"x":0,')), "schema_violation", 422),
  bad("a manifest that is not JSON", multipart(file, manifest.replace("{", "")), "json_malformed"),
  bad(
    "a manifest with a filename",
    multipart(file, manifest.replace('"manifest"', '"manifest"; filename="m.json"')),
    "part_header_refused",
  ),
  bad(
    "a manifest of another type",
    multipart(file, manifest.replace("\r\n\r\n", "\r\nContent-Type: text/plain\r\n\r\n")),
    "media_type_unsupported",
    415,
  ),
  bad(
    "a text part with a type",
    multipart(file, manifest, 'Content-Disposition: form-data; name="comment"\r\nContent-Type: text/plain\r\n\r\nx'),
    "part_header_refused",
  ),
  bad(
    "a text part that is not UTF-8",
    Buffer.from(multipart(file, manifest, 'Content-Disposition: form-data; name="comment"\r\n\r\n\xff'), "latin1"),
  ),
  bad("a file over its limit", multipart(file.replace("DATA", "D".repeat(4097)), manifest), "body_too_large", 413),
  bad("a manifest over its limit", multipart(manifest.replace("1", "1".repeat(600)), file), "body_too_large", 413),
  bad("a whole over its limit", multipart(file, manifest, "x".repeat(9000)), "body_too_large", 413),
  headed("no disposition", octets),
  headed("a disposition that is not form-data", 'Content-Disposition: attachment; name="file"'),
  headed("no name", "Content-Disposition: form-data"),
  headed("an unquoted name", "Content-Disposition: form-data; name=file"),
  headed("two names", `${named}; name="manifest"; filename="a"`),
  headed("two dispositions", `${named}; filename="a"\r\n${named}; filename="a"\r\n${octets}`),
  headed("two types", `${named}; filename="a"\r\n${octets}\r\n${octets}`),
  headed("a transfer encoding", `${named}; filename="a"\r\n${octets}\r\nContent-Transfer-Encoding: base64`),
  headed("a binary transfer encoding", `${named}; filename="a"\r\n${octets}\r\nContent-Transfer-Encoding: binary`),
  headed("another field", `${named}; filename="a"\r\n${octets}\r\nX-Other: 1`),
  headed("a folded field", `Content-Disposition: form-data;\r\n name="file"; filename="a"\r\n${octets}`),
  headed("an extended filename", `${named}; filename*=UTF-8''a\r\n${octets}`),
  headed("no filename", `${named}\r\n${octets}`),
  headed("an empty filename", `${named}; filename=""\r\n${octets}`),
  headed("a filename with a path", `${named}; filename="../../etc/passwd"\r\n${octets}`),
  headed("a filename with backslashes", `${named}; filename="C:\\\\a"\r\n${octets}`),
  headed("a filename of two dots", `${named}; filename=".."\r\n${octets}`),
  headed("a filename of three dots", `${named}; filename="..."\r\n${octets}`),
  headed("a filename with a control character", `${named}; filename="a\u0007"\r\n${octets}`),
  headed("a filename of 300 characters", `${named}; filename="${"a".repeat(300)}"\r\n${octets}`),
  headed("a file without a type", `${named}; filename="a"`),
  headed("a file of another type", `${named}; filename="a"\r\nContent-Type: text/html`, "media_type_unsupported", 415),
  headed("a file that claims to be multipart", `${named}; filename="a"\r\nContent-Type: multipart/mixed; boundary=YY`),
  ...[
    "multipart/form-data",
    "multipart/form-data; boundary=",
    'multipart/form-data; boundary=""',
    `multipart/form-data; boundary=${"x".repeat(71)}`,
    "multipart/form-data; boundary=XX; boundary=YY",
    'multipart/form-data; boundary="X;X"',
    "multipart/form-data; boundary=X{X",
    "multipart/mixed; boundary=XX",
    "multipart/form-data; boundary=XX; charset=utf-16",
  ].map(
    (value): Hostile => ({
      name: `multipart: Content-Type ${value.slice(0, 60)}`,
      status: 415,
      code: "media_type_unsupported",
      send: sized(UPLOAD, [`Content-Type: ${value}`], multipart(file, manifest)),
    }),
  ),
];

export const goodUpload = sized(UPLOAD, [type], multipart(file, manifest));
