import type { IncomingMessage, ServerResponse } from "node:http";
import { isJobErrand, type OperationErrand, operationErrands } from "../conventions/operation/errand.ts";
import { defaults } from "../kernel/defaults.ts";
import { Denied } from "../kernel/failure.ts";
import type { JsonObject } from "../kernel/json.ts";
import type { Api, HomeRooms } from "./api.ts";
import type { Entered, Page } from "./guard.ts";
import { answerHome } from "./home-routes.ts";
import { openStream, readBody, send, sendJson, textOf, textOrNull } from "./http.ts";

/** What the page can ask. Everything here has passed the guard, in the way that the page says. */
export async function answerApi(
  api: Api,
  page: Page,
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
): Promise<void> {
  const [, , noun = "", id = "", verb = ""] = url.pathname.split("/");
  const what = `${request.method} ${[noun, id === "" ? "" : "*", verb].filter((part) => part !== "").join("/")}`;
  const name = requireName(id);
  const body = async (): Promise<JsonObject> => readBody(request);
  /** What acts or signs: with the person's own secret, where the mode asks for it. */
  const meant = async (): Promise<JsonObject> => {
    const given = await body();
    await api.secret.require(given);
    return given;
  };
  if (api.remote && !BEYOND[page.entered].has(what)) throw onlyHere();
  if (api.home === null && !BY_HUB.has(what)) throw notByHub(noun);
  const aboutHome = api.home === null ? undefined : answerHome(api.home, api.turn, what, name, meant);
  if (aboutHome !== undefined) return sendJson(response, 200, await aboutHome);
  const errand = operationErrands.find((one) => what === asked(one));
  if (errand !== undefined) {
    const given = await meant();
    const reason = isJobErrand(errand) ? textOf(given, "reason") : undefined;
    return sendJson(response, 200, await api.live.client().askOperation(errand, name, reason));
  }
  switch (what) {
    case "GET events":
      return follow(api, page, response);
    case "GET me":
      return sendJson(response, 200, await api.turn.seen(() => ({ ...api.me(), enrolling: isEnrolling(api, page) })));
    case "POST approvals/*/draft":
      return sendJson(response, 200, await draft(api, name, await body()));
    case "POST decisions":
      return sendJson(response, 200, await api.decisions.give(await body()));
    case "POST approvals/*/extend":
      return sendJson(response, 200, await api.extend(name, await body()));
    case "POST grants":
      return sendJson(response, 200, await grant(api, textOf(await meant(), "line", 4_000)));
    case "GET gateways":
      return sendJson(response, 200, (await api.fleet?.gateways()) ?? notThere());
    case "GET sessions":
      return sendJson(response, 200, await api.live.client().sessions());
    case "POST sessions/*/revoke":
      await api.live.client().revoke(name, textOrNull(await body(), "reason"));
      return sendJson(response, 200, { session_id: name, state: "ended" });
    case "GET operations/*":
      return sendJson(response, 200, await api.live.client().operation(name));
    case "POST operations/*/settle":
      return sendJson(response, 200, await api.settle(name, await meant()));
    case "GET activity":
      return sendJson(response, 200, await api.activity(url.searchParams));
    case "GET charts":
      return sendJson(response, 200, await api.charts());
    case "GET calls/*":
      return sendJson(response, 200, await api.call(name, url.searchParams.get("gateway")));
    case "GET recordings/*":
      return sendJson(response, 200, await api.recording(name));
    case "POST log/*":
      return name === "verify" ? verify(api, response, await body()) : notThere();
    case "GET log/*":
      return name === "checkpoint"
        ? send(response, 200, "text/plain; charset=utf-8", await api.turn.seen(() => homeOf(api).log.checkpoint()))
        : notThere();
    case "GET passkeys":
      return sendJson(response, 200, await api.turn.seen(() => homeOf(api).passkeys()));
    case "POST passkeys/*":
      return sendJson(response, 200, await enrol(api, page, name, body, meant));
    case "POST passkeys/*/remove":
      await meant();
      return sendJson(response, 200, await api.turn.changed(() => homeOf(api).enrolment.remove(name)));
    default:
      return notThere();
  }
}

function asked(errand: OperationErrand): string {
  return `POST operations/*/${errand}`;
}

/** All that can be asked beyond this machine: a link lets in to enrol the passkey that then does, and a passkey to look and decide. */
const BEYOND: Readonly<Record<Entered, ReadonlySet<string>>> = {
  link: new Set(["GET me", "POST passkeys/*"]),
  passkey: new Set([
    ...["GET me", "GET events", "GET gateways", "GET sessions", "GET operations/*", "GET activity", "GET charts"],
    ...[
      "GET calls/*",
      "GET recordings/*",
      "POST log/*",
      "POST approvals/*/draft",
      "POST approvals/*/extend",
      "POST decisions",
    ],
    "POST sessions/*/revoke",
  ]),
};

/** What goes by way of a hub; the rest is for a host of the vault. */
const BY_HUB: ReadonlySet<string> = new Set([
  ...["GET me", "GET events", "GET gateways", "GET sessions", "GET operations/*", "GET activity", "GET charts"],
  ...[
    "GET calls/*",
    "POST log/*",
    "POST approvals/*/draft",
    "POST approvals/*/extend",
    "POST decisions",
    "POST grants",
  ],
  ...["POST sessions/*/revoke", "POST operations/*/settle"],
  ...operationErrands.map(asked),
]);

/** What does the same, by what was asked about. */
const INSTEAD: ReadonlyMap<string, string> = new Map([
  ["packs", "gw pack list, gw pack trust"],
  ["credentials", "gw credential list, gw credential add"],
  ["recordings", "gw activity show ID --recording"],
  ["passkeys", "gw passkey list, gw console"],
  ["log", "gw audit checkpoint"],
  ["grants", "gw grant list --hub URL, gw grant remove NAME --hub URL"],
  ["policy", "gw policy show, gw policy set; for grants gw grant list --hub URL, gw grant remove NAME --hub URL"],
]);

function notByHub(noun = ""): Denied {
  const instead = INSTEAD.get(noun) ?? "gw console";
  return new Denied(
    "console_not_by_hub",
    `By way of a hub you look, decide, sign the grant beside a card, end sessions and see to operations. This is done by commands, on a host of the vault where they do not say --hub: ${instead}. Nothing was done.`,
  );
}

function homeOf({ home }: Api): HomeRooms {
  if (home === null) throw notByHub();
  return home;
}

function isEnrolling({ remote }: Api, { entered }: Page): boolean {
  return remote && entered === "link";
}

/** Whoever has the link that was just printed in the operator's own terminal is asked for nothing more, and enrols once. */
async function enrol(
  api: Api,
  page: Page,
  step: string,
  body: () => Promise<JsonObject>,
  meant: () => Promise<JsonObject>,
): Promise<unknown> {
  const once = isEnrolling(api, page);
  if (step === "begin") {
    await (once ? body() : meant());
    return api.turn.seen(() => homeOf(api).enrolment.begin());
  }
  if (step !== "finish") return notThere();
  const given = await body();
  return api.turn.changed(async () => {
    if (!page.isIn()) throw onlyHere();
    const enrolled = await homeOf(api).enrolment.finish(given);
    if (once) page.end();
    return enrolled;
  });
}

const draft = (api: Api, name: string, body: JsonObject) => api.turn.seen(() => api.decisions.draft(name, body));
const grant = (api: Api, line: string) => api.turn.changed(() => api.grant(line));

function onlyHere(): Denied {
  return new Denied(
    "console_only_here",
    "From here you look, decide with your passkey and end sessions. Everything else is done in gw console on your own machine. Nothing was done.",
  );
}

/** For as long as the page is let in, which is looked at again and again. */
async function follow(api: Api, page: Page, response: ServerResponse): Promise<void> {
  const tell = openStream(response);
  const closed = new AbortController();
  const stop = api.live.follow((news) => tell(news.kind, news));
  response.on("close", () => {
    stop();
    closed.abort();
  });
  while (!closed.signal.aborted) {
    await api.sleep(defaults.consolePageLookMs, closed.signal);
    // Of a home that cannot be asked just now, what is known of it counts.
    if (page.entered === "passkey") await api.turn.seen(() => undefined).catch(() => undefined);
    if (!page.isIn()) return void response.end();
  }
}

async function verify(api: Api, response: ServerResponse, body: JsonObject): Promise<void> {
  // Byte for byte: a note that lost its last newline is another one.
  const checkpoint = typeof body["checkpoint"] === "string" ? textOf(body, "checkpoint") : null;
  const tell = openStream(response);
  const { fleet } = api;
  if (fleet !== null) tell("fleet", await fleet.verify());
  else {
    const progress = (done: number, total: number): void => tell("progress", { done, total });
    tell("report", await api.turn.seen(() => homeOf(api).log.verify(progress, checkpoint)));
  }
  response.end();
}

function requireName(escaped: string): string {
  let text: string;
  try {
    text = decodeURIComponent(escaped);
  } catch {
    throw new Denied("percent_malformed", "The address holds a % that is followed by no two hex digits of a text.");
  }
  if (text.length <= 2_048 && /^[A-Za-z0-9_-]*$/.test(text)) return text;
  return notThere();
}

function notThere(): never {
  throw new Denied("not_found", "The console has nothing there.");
}
