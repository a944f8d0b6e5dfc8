import { spawn } from "node:child_process";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";

/** A host of git repositories: git's own http-backend behind a server that wants a token. */
export function answerGit(root: string, token: string, seen: string[] = []): RequestListener {
  return async (request, response) => {
    const url = new URL(request.url ?? "/", "http://host");
    seen.push(`${request.method} ${url.pathname}${url.search}`);
    if (request.headers.authorization !== `Bearer ${token}`) return void response.writeHead(401).end();
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const backend = spawn("git", ["http-backend"], {
      env: {
        PATH: process.env["PATH"],
        GIT_PROJECT_ROOT: root,
        GIT_HTTP_EXPORT_ALL: "1",
        REQUEST_METHOD: request.method,
        PATH_INFO: url.pathname,
        QUERY_STRING: url.search.slice(1),
        CONTENT_TYPE: request.headers["content-type"] ?? "",
        CONTENT_LENGTH: String(body.byteLength),
        HTTP_GIT_PROTOCOL: String(request.headers["git-protocol"] ?? ""),
        REMOTE_USER: "gw",
        REMOTE_ADDR: "127.0.0.1",
      },
    });
    const out: Buffer[] = [];
    backend.stdout.on("data", (chunk: Buffer) => void out.push(chunk));
    backend.stdin.on("error", () => undefined);
    backend.stdin.end(body);
    backend.once("close", () => {
      const all = Buffer.concat(out);
      const end = all.indexOf("\r\n\r\n");
      const fields = all
        .toString("latin1", 0, end)
        .split("\r\n")
        .map((line) => line.split(": "));
      const status = Number(fields.find(([name]) => name === "Status")?.[1]?.slice(0, 3) ?? 200);
      for (const [name = "", value = ""] of fields)
        if (name !== "Status" && name !== "") response.setHeader(name, value);
      response.writeHead(end < 0 ? 500 : status).end(all.subarray(end + 4));
    });
  };
}

export async function startGitHost(root: string, token: string) {
  const seen: string[] = [];
  const server = createServer(answerGit(root, token, seen));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
