import type { Screen } from "../../../conventions/outcome/echo.ts";
import type { Answered } from "../../../conventions/outcome/observation.ts";
import type { HttpSend } from "../../../gateway/ports.ts";
import type { Exchanged } from "./exchange.ts";
import { remoteRequestId } from "./response-headers.ts";

/** Turns a whole response into what may leave the transport: screened for the credential that went with the request. */
export function answer(
  { status, head, body, streamed }: Extract<Exchanged, { kind: "answered" }>,
  echo: HttpSend["echo"],
  screen: Screen,
): Omit<Answered, "elapsedMs"> {
  const whole = { headers: head.headers, body };
  const screened = screen(whole, echo);
  const content = screened.kind === "clean" ? whole : screened.content;
  const withheld = screened.kind === "withheld" ? "credential_echoed" : null;
  const said = {
    kind: "answered",
    status,
    ...content,
    remoteRequestId: remoteRequestId(content.headers),
    withheld,
  } as const;
  return streamed === undefined ? said : { ...said, streamed };
}
