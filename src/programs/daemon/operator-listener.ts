import { chmodSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { createClientErrorHandler } from "../../conventions/request/client-error.ts";
import { createRequestListener } from "../../conventions/request/node-http.ts";
import { problemReply } from "../../conventions/request/serve.ts";
import type { Desk } from "../../gateway/approval/desk.ts";
import type { Clock } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { OperatorContext } from "../../surfaces/operator/context.ts";
import type { Logins } from "../../surfaces/operator/logins.ts";
import { approvalRecord } from "../../surfaces/operator/records.ts";
import type { PlaneRoute } from "../../surfaces/plane/route.ts";

export interface OperatorListenerOptions {
  readonly path: string;
  readonly routes: readonly PlaneRoute<OperatorContext>[];
  readonly logins: Logins;
  readonly desk: Desk;
  readonly clock: Clock;
  correlationId(): string;
  onFault(error: unknown, correlationId: string): void;
}

/** Listens for operators on a socket that only this user can open; who speaks is proven by the login, not by that. */
export async function listenForOperators(options: OperatorListenerOptions): Promise<{ close(): void }> {
  const strict = createRequestListener<IncomingMessage, OperatorContext>({
    routes: options.routes.map(({ bound }) => bound),
    principalOf: ({ headers: { authorization } }) => ({
      name: "operator plane",
      login: () => options.logins.find(authorization),
    }),
    correlationId: options.correlationId,
    onRecord: () => undefined,
    onFault: options.onFault,
  });
  const streams = new Set<ServerResponse>();
  const server = createServer({ maxHeaderSize: defaults.agentHeaderBytes, requestTimeout: 0 }, (request, response) => {
    if (request.method === "GET" && request.url === "/v1/events") stream(request, response);
    else strict(request, response);
  });

  /** Server-sent events: every change of a question, so that several operators see the first decision at once. */
  function stream(request: IncomingMessage, response: ServerResponse): void {
    try {
      options.logins.find(request.headers.authorization);
    } catch (error) {
      if (!(error instanceof Denied)) throw error;
      const { status, headers, body } = problemReply(error, options.correlationId());
      response.writeHead(status, headers).end(body);
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    const send = (approval: Parameters<typeof approvalRecord>[0]): void => {
      response.write(`event: approval\ndata: ${JSON.stringify(approvalRecord(approval, options.clock.bootMs()))}\n\n`);
    };
    for (const approval of options.desk.list()) send(approval);
    const stop = options.desk.watch(send);
    streams.add(response);
    response.once("close", () => {
      stop();
      streams.delete(response);
    });
  }

  server.maxConnections = defaults.operatorConnections;
  const clientError = createClientErrorHandler(options.correlationId);
  server.on("clientError", (error, socket: Duplex & { readonly bytesWritten: number }) => clientError(error, socket));
  rmSync(options.path, { force: true });
  const mask = process.umask(0o177);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.path, () => resolve());
  }).finally(() => process.umask(mask));
  chmodSync(options.path, 0o600);
  return {
    close() {
      for (const response of streams) response.end();
      server.close();
      server.closeAllConnections();
    },
  };
}
