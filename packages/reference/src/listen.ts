import type { IncomingMessage, ServerResponse } from "node:http";
import { Denied } from "../../../src/kernel/failure.ts";
import { createRequestListener, type OutgoingReply } from "../../request/src/node-http.ts";
import type { RequestRecord } from "../../request/src/record.ts";
import { bearerOf, type Identity, readFields, single, type Who } from "./context.ts";
import type { Core } from "./core.ts";
import { createInFlight } from "./idempotency.ts";
import { createRouteMaker } from "./route.ts";
import { DOCUMENT_PATH, referenceRoutes } from "./routes/routes.ts";
import { createSignatureVerifier } from "./signatures/verify.ts";
import { cutShort } from "./suffer.ts";
import { createVerifier } from "./tokens/verify.ts";
import { DEFAULT_VERSION, readVersion, type Version, versions } from "./version.ts";

export interface Watching {
  onRecord(record: RequestRecord): void;
  /** Previews are recorded apart: nothing that follows completed changes ever sees them. */
  onPreview(record: RequestRecord): void;
  onFault(error: unknown, correlationId: string): void;
}

type Listener = (request: IncomingMessage, response: OutgoingReply) => void;

const NOTHING = (): void => undefined;
const NOBODY: Identity = { tenant: "", actor: "anonymous", scopes: new Set(), tokenId: "" };

/** The listener for node:http: picks the version, names the caller, and adds the fields that every reply carries. */
export function createListener(
  core: Core,
  watching: Watching,
): (request: IncomingMessage, response: ServerResponse) => void {
  const verify = createVerifier(core);
  const verifySignature = createSignatureVerifier(core, core.signers);
  const inFlight = createInFlight();
  const replies = new WeakMap<IncomingMessage, Record<string, string>>();
  let correlationId = "";

  async function principalOf(request: IncomingMessage): Promise<Who> {
    const reply = replies.get(request) ?? {};
    const fields = readFields(request.rawHeaders);
    const chosen = single(request.rawHeaders, "x-api-version");
    if (chosen !== undefined && readVersion(chosen) === undefined) {
      throw new Denied("version_unknown", `there is no version ${chosen}; there are ${versions.join(", ")}`);
    }
    const about = { fields, request, reply };
    if (request.url === DOCUMENT_PATH) return { ...NOBODY, name: "anonymous", checkBody: NOTHING, ...about };
    try {
      const signed = verifySignature(request);
      const identity = signed?.identity ?? (await verify(bearerOf(fields)));
      const { tenant, actor } = identity;
      return { ...identity, name: `${tenant}/${actor}`, checkBody: signed?.checkBody ?? NOTHING, ...about };
    } catch (error) {
      if (error instanceof Denied) {
        const why = error.code === "token_missing" ? "" : `, error="invalid_token", error_description="${error.code}"`;
        reply["www-authenticate"] = `Bearer realm="reference"${why}`;
      }
      throw error;
    }
  }

  function createFor(version: Version): Listener {
    const routes = referenceRoutes(core, createRouteMaker(core, inFlight), version).map((route) => route.bound);
    return createRequestListener<IncomingMessage, Who>({
      routes,
      principalOf,
      correlationId: () => correlationId,
      onRecord: (record) =>
        record.endpoint.endsWith("/plan") ? watching.onPreview(record) : watching.onRecord(record),
      onFault: watching.onFault,
    });
  }
  const listeners = new Map(versions.map((version) => [version, createFor(version)]));

  return (request, response) => {
    correlationId = core.identify("req");
    const version = readVersion(headerOnce(request)) ?? DEFAULT_VERSION;
    const added: Record<string, string> = { "x-request-id": correlationId, "x-api-version": version };
    replies.set(request, added);
    listeners.get(version)?.(request, {
      get headersSent() {
        return response.headersSent;
      },
      writeHead: (status, headers) => response.writeHead(status, { ...headers, ...added }),
      end: (body) => (cutShort.has(request) ? breakOff(response, body) : response.end(body)),
    });
  };
}

/** Half of the body leaves, and then the connection is gone. */
function breakOff(response: ServerResponse, body: string): void {
  const bytes = Buffer.from(body, "utf8");
  response.write(bytes.subarray(0, bytes.byteLength >> 1), () => response.destroy());
}

/** A repeated selector selects nothing here; the caller is told so when the fields are read. */
function headerOnce(request: IncomingMessage): string {
  const value = request.headersDistinct["x-api-version"];
  return value?.length === 1 ? (value[0] ?? "") : "";
}
