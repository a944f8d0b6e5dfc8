import { isPrivateHost } from "../../../../conventions/url/origin.ts";
import { defaults } from "../../../../kernel/defaults.ts";
import { showBounded } from "../../../../kernel/display.ts";
import { Denied } from "../../../../kernel/failure.ts";
import type { JsonObject } from "../../../../kernel/json.ts";
import { Secret } from "../../../../kernel/secret.ts";
import { agreedToken, askEndpoint, askToken, type Login, readObject } from "./ask-endpoint.ts";

const DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";

/** Device authorization (RFC 8628): a code that a person types in where their browser is. */
export async function agreeOnDevice(login: Login, endpoint: string): Promise<string> {
  const { exchange, io, ports } = login;
  const { scopes, resource, audience } = exchange;
  const pairs: (readonly [string, string])[] = [];
  // The client names itself here, however it proves itself.
  if (exchange.clientAuth === "client_secret_basic" || exchange.clientAuth === "private_key_jwt")
    pairs.push(["client_id", exchange.clientId]);
  if (scopes.length > 0) pairs.push(["scope", scopes.join(" ")]);
  if (resource !== null) pairs.push(["resource", resource]);
  if (audience !== null) pairs.push(["audience", audience]);
  const { status, body } = await askEndpoint(login, endpoint, pairs, []);
  const offer = readObject(body, "The device authorization endpoint");
  if (status !== 200) throw new Denied("token_refused", `The device authorization endpoint answered ${status}.`);
  using code = Secret.fromText(textOf(offer, "device_code", 4_096));
  io.err(
    `Open ${placeOf(offer)} in a browser, and enter the code ${showBounded(textOf(offer, "user_code", 64), 64)}\nWaiting until you agreed.`,
  );
  const until = ports.clock.wallMs() + Math.min(1_000 * secondsOf(offer, "expires_in", 600), defaults.loginWaitMs);
  let pauseMs = Math.min(1_000 * secondsOf(offer, "interval", defaults.devicePollMs / 1_000), 60_000);
  while (ports.clock.wallMs() < until) {
    await ports.sleep.sleep(pauseMs);
    const answer = await askToken(login, [["grant_type", DEVICE_GRANT]], [{ name: "device_code", value: code }]);
    const waits = answer.kind === "refused" && ["authorization_pending", "slow_down"].includes(answer.error);
    if (!waits) return agreedToken(login, answer);
    if (answer.error === "slow_down") pauseMs += defaults.devicePollMs;
  }
  throw new Denied("token_unavailable", "Nobody agreed in time. Nothing was changed: log in again.");
}

function textOf(offer: JsonObject, name: string, most: number): string {
  const value = offer[name];
  if (typeof value === "string" && value !== "" && value.length <= most) return value;
  throw new Denied("token_unavailable", `The device authorization endpoint answered without ${name}.`);
}

/** Where a person is sent to: never anywhere but https, whatever the provider says. */
function placeOf(offer: JsonObject): string {
  const url = URL.parse(textOf(offer, "verification_uri", 2_048));
  if (url !== null && (url.protocol === "https:" || (url.protocol === "http:" && isPrivateHost(url.hostname))))
    return url.href;
  throw new Denied("token_unavailable", "The device authorization endpoint sends people to no https address.");
}

function secondsOf(offer: JsonObject, name: string, otherwise: number): number {
  const value = offer[name];
  return typeof value === "number" && value >= 1 ? value : otherwise;
}
