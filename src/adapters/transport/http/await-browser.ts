import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { defaults } from "../../../kernel/defaults.ts";
import { Denied } from "../../../kernel/failure.ts";

/**
 * Waits on loopback for the browser of a person who logs in (RFC 8252). Whatever does not carry our state is turned away and
 * changes nothing: any page and any user of this machine can send a browser here.
 */
export async function awaitBrowser(port: number, state: string) {
  let take: (query: URLSearchParams) => void = () => undefined;
  const came = new Promise<URLSearchParams>((resolve) => {
    take = resolve;
  });
  const server = createServer({ maxHeaderSize: 16_384, headersTimeout: 10_000 }, ({ method, url = "" }, response) => {
    const [path, query = ""] = url.split("?", 2);
    if (method !== "GET" || path !== "/callback") return say(response, 404, "Nothing is here.");
    const given = new URLSearchParams(query);
    if (given.getAll("state").length !== 1 || given.get("state") !== state)
      return say(response, 400, "This is not the answer that gw waits for. Nothing was done.");
    take(given);
    say(response, 200, "gw has what it needs. You can close this page and go back to the terminal.");
  });
  server.maxConnections = 8;
  await new Promise<void>((resolve, reject) => {
    const busy = (error: NodeJS.ErrnoException): void =>
      reject(new Denied("credential_invalid", `127.0.0.1:${port} cannot be listened on: ${error.code ?? error.name}.`));
    server.once("error", busy);
    server.listen(port, "127.0.0.1", () => {
      server.off("error", busy);
      resolve();
    });
  });
  const close = (): void => {
    clearTimeout(late);
    server.close();
    server.closeAllConnections();
  };
  let fail: (why: Denied) => void = () => undefined;
  const late = setTimeout(
    () => fail(new Denied("token_unavailable", "Nobody agreed in time. Nothing was changed: log in again.")),
    defaults.loginWaitMs,
  );
  const waited = new Promise<never>((_resolve, reject) => {
    fail = reject;
  });
  return {
    redirectUri: `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`,
    came: Promise.race([came, waited]),
    close,
  };
}

function say(response: ServerResponse, status: number, words: string): void {
  response.writeHead(status, {
    "content-type": "text/plain; charset=utf-8",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "content-security-policy": "default-src 'none'",
    connection: "close",
  });
  response.end(`${words}\n`);
}
