import { screenResponse } from "../../../conventions/outcome/echo.ts";
import type { Answered } from "../../../conventions/outcome/observation.ts";
import type { LentCredential, OutboundHttp } from "../../../gateway/ports.ts";
import type { Exchanged } from "./exchange.ts";
import { remoteRequestId } from "./response-headers.ts";

/** Turns a whole response into what may leave the transport: screened for the credential that went with the request. */
export function answer(
  exchanged: Extract<Exchanged, { kind: "answered" }>,
  request: Pick<OutboundHttp, "echo">,
  credential: LentCredential | null,
): Omit<Answered, "elapsedMs"> {
  const { status, body, head } = exchanged;
  const whole = { headers: head.headers, body };
  const secrets = credential === null ? [] : [...credential.secrets, credential.headerValue];
  const screened = screenResponse(secrets, whole, request.echo);
  const content = screened.kind === "clean" ? whole : screened.content;
  const withheld = screened.kind === "withheld" ? "credential_echoed" : null;
  return { kind: "answered", status, ...content, remoteRequestId: remoteRequestId(content.headers), withheld };
}
