import { matchPath } from "../../../packages/request/src/target.ts";
import { hideOpaque } from "../../conventions/action/keep.ts";
import { requireOwnPath } from "../../conventions/action/own-path.ts";
import type { HttpAction, Pack } from "../../conventions/action/pack.ts";
import { describeSend } from "../../conventions/action/send.ts";
import type { Answered } from "../../conventions/outcome/observation.ts";
import { narrowScope } from "../../conventions/scope/scope.ts";
import { decideRedirect, type RedirectTarget } from "../../conventions/url/redirect.ts";
import { Denied } from "../../kernel/failure.ts";
import { type Authorization, authorizedByCard, grantOf } from "../approval/authorize.ts";
import { writeQuestion } from "../approval/cards.ts";
import { requireScope } from "../outbound/admit.ts";
import type { AttemptNeeds } from "./needs.ts";
import type { Sending } from "./sending.ts";

/** The next request, or null where the rule or a person refuses it. What a person signed for it is what it rests on. */
export async function redirect(
  core: AttemptNeeds,
  sending: Sending,
  answer: Answered,
  location: string,
  followed: number,
): Promise<Sending | null> {
  const { request, outbound } = sending;
  const { pack, action } = outbound.definition;
  const { provider } = pack;
  // A full URL is followed nowhere: its allow-list is for what the agent named, not for what a server answers.
  if (provider === null || request.kind !== "http" || action.kind !== "http") return null;
  const { redirects, origin } = provider;
  const decision = decideRedirect(
    { status: answer.status, location, method: request.method, url: request.url, followed },
    {
      own: origin,
      isOwnPath: (path, query) => isOwnPath(pack, action, boundsOf(core, sending), new URL(request.url), path, query),
      sideEffect: outbound.sideEffect,
      origins: [origin, ...redirects.origins],
      credentialOrigins: sending.credential === null ? [] : [origin],
      others: redirects.others,
      credential: redirects.credential,
      max: redirects.max,
    },
  );
  if (decision.kind === "refuse" || decision.kind === "not_a_redirect") return null;
  const { target } = decision;
  const credential = target.credential === "keep" ? sending.credential : null;
  const because = becauseOf(core, decision.kind, credential, answer.status);
  const authorization = because === null ? sending.authorization : await ask(core, sending, target, because);
  if (authorization === null) return null;
  const { "content-type": _type, ...bare } = request.headers;
  return {
    ...sending,
    authorization,
    credential,
    request: {
      ...request,
      url: target.url,
      method: target.method,
      body: target.body === "keep" ? request.body : null,
      headers: target.body === "keep" ? request.headers : bare,
    },
  };
}

/** The same call once more. A credential that asks on every use asks for this one too; null where nobody agrees. */
export async function allowRepeat(core: AttemptNeeds, sending: Sending, why: string): Promise<Sending | null> {
  if (!isEachUse(core, sending.credential)) return sending;
  const { url, method } = describeSend(sending.request);
  const because = `its credential is marked for approval on every use, and ${why}`;
  const authorization = await ask(core, sending, { url, method }, because, "each_use");
  return authorization === null ? null : { ...sending, authorization };
}

function becauseOf(
  core: Pick<AttemptNeeds, "credentials">,
  kind: "follow" | "ask",
  credential: string | null,
  status: number,
): string | null {
  if (kind === "ask") return `the provider redirects it (${status}) to where its definition does not reach`;
  if (!isEachUse(core, credential)) return null;
  return `its credential is marked for approval on every use, and the provider redirects it (${status})`;
}

function isEachUse(core: Pick<AttemptNeeds, "credentials">, credential: string | null): boolean {
  return credential !== null && core.credentials()?.find(credential)?.eachUse === true;
}

/** The inputs that a person put bounds on, for the session, for this very call or in the grant that it rests on. */
function boundsOf(
  core: Pick<AttemptNeeds, "grants">,
  { session, outbound, authorization }: Sending,
): readonly string[] {
  const name = grantOf(authorization);
  const { conditions = [] } = session.scope.actions.find(({ action }) => action === outbound.action) ?? {};
  const granted = name === null ? [] : core.grants().flatMap((one) => (one.name === name ? one.conditions : []));
  return [...[...conditions, ...granted].map(({ input }) => input), ...(authorization.bounded ?? [])];
}

/** One of the action's own template and of no other action, with whatever is bounded as it was: the provider does not widen what a person narrowed. */
function isOwnPath(
  pack: Pack,
  action: HttpAction,
  bounds: readonly string[],
  before: URL,
  path: string,
  query: string,
): boolean {
  const { template } = action;
  try {
    const matched = matchPath(template, path)?.params;
    const own = matchPath(template, before.pathname)?.params;
    if (matched === undefined) return false;
    requireOwnPath(pack, action, path);
    if (bounds.length === 0) return true;
    // From elsewhere there is no telling what the arguments were.
    if (own === undefined) return false;
    // What is bounded and not in the path is in the query, or in a body that goes along as it is.
    return bounds.every((name) =>
      own.has(name) ? own.get(name)?.[0] === matched.get(name)?.[0] : query === before.search,
    );
  } catch (error) {
    if (error instanceof Denied) return false;
    throw error;
  }
}

async function ask(
  core: Pick<AttemptNeeds, "acceptTicket" | "desk" | "posture">,
  { run, session, callId, outbound, ticket, request, onWait }: Sending,
  target: Pick<RedirectTarget, "url" | "method"> & Partial<RedirectTarget>,
  because: string,
  mode: "redirect" | "each_use" = "redirect",
): Promise<Authorization | null> {
  // What a card does not show of the arguments, it does not show in an address either.
  const { bound } = outbound;
  const own = describeSend(bound).url;
  const shown = (url: string): string =>
    url === own ? bound.kept.url : hideOpaque(outbound.definition.action, outbound.input, url);
  const call = {
    callId,
    outbound: { ...outbound, method: target.method },
    target: shown(target.url),
    because: [because],
    notes: mode === "redirect" ? notesOf(target, shown(describeSend(request).url)) : [],
    ...(ticket === undefined ? {} : { ticket: ticket.evidence }),
  };
  const asked = core.desk.ask(writeQuestion(core, { mode, run, caller: session.caller, scope: null, call }));
  onWait?.({ approvalId: asked.approvalId });
  try {
    const decision = await asked.answer;
    requireScope(narrowScope(session.scope, decision.statement.narrow), outbound);
    return authorizedByCard(decision);
  } catch (error) {
    if (error instanceof Denied) return null;
    throw error;
  } finally {
    onWait?.(null);
  }
}

function notesOf({ body, credential }: Partial<RedirectTarget>, from: string): readonly string[] {
  return [
    `it was sent to ${from}, which answered with a redirect; this card is for the new address`,
    credential === "keep" ? "the credential goes there too" : "the credential stays behind",
    ...(body === "drop" ? ["only the answer is fetched there; the request's body is not sent again"] : []),
  ];
}
