import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";

/** A registry of npm packages and one of Python wheels, each with one package; what is published is remembered. */
export interface Registry {
  answer(request: IncomingMessage, body: Buffer, response: ServerResponse): void;
  readonly published: readonly string[];
}

export function makeRegistry(folder: string): Registry {
  const published: string[] = [];
  const tarball = npmPackage(folder);
  const wheel = pythonWheel(folder);
  return {
    published,
    answer({ method, url = "/" }, body, response) {
      const { pathname } = new URL(url, "https://registry.example");
      const send = (status: number, type: string, content: Buffer | string) =>
        void response.writeHead(status, { "content-type": type }).end(content);
      if (method === "PUT") {
        published.push(...Object.keys((JSON.parse(body.toString("utf8")) as { versions: object }).versions));
        return send(201, "application/json", "{}");
      }
      if (pathname === "/simple/tiny/")
        return send(
          200,
          "text/html",
          '<!DOCTYPE html><a href="/wheels/tiny-1.0-py3-none-any.whl">tiny-1.0-py3-none-any.whl</a>',
        );
      if (pathname.endsWith(".whl")) return send(200, "application/octet-stream", wheel);
      if (pathname.endsWith(".tgz")) return send(200, "application/octet-stream", tarball);
      if (pathname !== "/left-pad") return send(404, "application/json", "{}");
      const dist = { tarball: "https://registry.example/left-pad/-/left-pad-1.0.0.tgz" };
      const versions = { "1.0.0": { name: "left-pad", version: "1.0.0", main: "i.js", dist } };
      send(200, "application/json", JSON.stringify({ name: "left-pad", "dist-tags": { latest: "1.0.0" }, versions }));
    },
  };
}

function npmPackage(folder: string): Buffer {
  mkdirSync(join(folder, "package"));
  writeFileSync(join(folder, "package", "package.json"), '{"name":"left-pad","version":"1.0.0","main":"i.js"}');
  writeFileSync(join(folder, "package", "i.js"), "module.exports = 42;\n");
  spawnSync("tar", ["-czf", "left-pad.tgz", "package"], { cwd: folder });
  return readFileSync(join(folder, "left-pad.tgz"));
}

/** Empty where there is no Python: then nobody asks for it. */
function pythonWheel(folder: string): Buffer {
  const script = `import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w") as wheel:
    wheel.writestr("tiny.py", "ANSWER = 42\\n")
    wheel.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.0\\n")
    wheel.writestr("tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nGenerator: gw\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr("tiny-1.0.dist-info/RECORD", "tiny.py,,\\ntiny-1.0.dist-info/METADATA,,\\ntiny-1.0.dist-info/WHEEL,,\\ntiny-1.0.dist-info/RECORD,,\\n")`;
  const path = join(folder, "tiny.whl");
  return spawnSync("/usr/bin/python3", ["-c", script, path]).status === 0 ? readFileSync(path) : Buffer.alloc(0);
}

/** What pip asks of an index; no such pack is shipped. */
export const wheelsPack = `format: gw.pack/v1
pack: wheels
provider:
  origin: https://wheels.example
  credential: wheels
  auth: { scheme: bearer }
actions:
  index:
    effect: read
    request: { method: GET, path: "/simple/{name}/", accept: text/html }
    input: { name: { in: path, type: string, maxLength: 64 } }
  file:
    effect: read
    request: { method: GET, path: "/wheels/{file}", accept: "*/*" }
    input: { file: { in: path, type: string, maxLength: 200 } }
`;
