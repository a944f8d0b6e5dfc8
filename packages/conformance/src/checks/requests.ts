import type { JsonObject, JsonValue } from "../../../../src/kernel/json.ts";
import { type Check, isRefusal, isSuccess, type Kit, memberOf, type Reply, textOf } from "../check.ts";

const json = "application/json";

interface JsonPart {
  readonly target: string;
  readonly body: JsonObject;
  readonly member: string;
}

function partOf(kit: Kit): JsonPart {
  const part = kit.profile.json;
  kit.expect(part !== undefined, "the profile describes a JSON route");
  return part;
}

/** The route takes its valid request, so that a refusal of the next one means something. */
async function baseline(kit: Kit): Promise<JsonPart> {
  const part = partOf(kit);
  const reply = await kit.json("POST", part.target, part.body);
  kit.expect(isSuccess(reply), "the valid request of the profile is accepted");
  return part;
}

function post(
  kit: Kit,
  body: string,
  headers: Readonly<Record<string, string>> = { "content-type": json },
): Promise<Reply> {
  return kit.send({ method: "POST", target: partOf(kit).target, headers, body });
}

/** A check that sends one malformed body after the valid one. */
function refuses(
  name: string,
  rule: string,
  spoil: (part: JsonPart, text: string) => string,
  statuses: readonly number[],
): Check {
  return {
    name,
    rule: `Request handling 5: ${rule}`,
    needs: "json",
    async run(kit: Kit) {
      const part = await baseline(kit);
      const reply = await post(kit, spoil(part, JSON.stringify(part.body)));
      kit.expect(statuses.includes(reply.status), `refused with ${statuses.join(" or ")}`);
    },
  };
}

function withMember(value: JsonValue): (part: JsonPart) => string {
  return ({ body, member }) => JSON.stringify({ ...body, [member]: value });
}

const BAD = [400, 422];

export const requestChecks: readonly Check[] = [
  {
    name: "request.media_type.unsupported",
    rule: "Request handling 1: any other media type is rejected",
    needs: "json",
    async run(kit: Kit) {
      const { body } = await baseline(kit);
      const reply = await post(kit, JSON.stringify(body), { "content-type": "text/plain" });
      kit.expect(reply.status === 415, "text/plain is refused with 415");
    },
  },
  {
    name: "request.media_type.missing",
    rule: "Request handling 1: a missing Content-Type is rejected unless the body has zero bytes",
    needs: "json",
    async run(kit: Kit) {
      const { body } = await baseline(kit);
      const reply = await post(kit, JSON.stringify(body), {});
      kit.expect([400, 415].includes(reply.status), "a body without Content-Type is refused with 400 or 415");
    },
  },
  {
    name: "request.media_type.charset",
    rule: "Request handling 4: media-type parameters are accepted or rejected consistently",
    needs: "json",
    async run(kit: Kit) {
      const { body } = await baseline(kit);
      const other = await post(kit, JSON.stringify(body), { "content-type": `${json}; charset=iso-8859-1` });
      kit.expect(isRefusal(other), "a charset that JSON does not have is refused");
    },
  },
  {
    name: "request.accept",
    rule: "Request handling 3: Accept never influences request parsing",
    needs: "json",
    async run(kit: Kit) {
      const { body } = await baseline(kit);
      const headers = { "content-type": json, accept: "application/x-www-form-urlencoded" };
      kit.expect(isSuccess(await post(kit, JSON.stringify(body), headers)), "accepted whatever Accept says");
    },
  },
  {
    name: "request.content_encoding",
    rule: "Request handling 2: the bytes become exactly one command",
    needs: "json",
    async run(kit: Kit) {
      const { body } = await baseline(kit);
      const reply = await post(kit, JSON.stringify(body), { "content-type": json, "content-encoding": "br" });
      kit.expect([400, 415].includes(reply.status), "an encoded body is refused with 400 or 415");
    },
  },
  {
    name: "request.size_limit",
    rule: "Request handling 5: the body size limit is enforced before parsing",
    needs: "json",
    async run(kit: Kit) {
      const { body } = await baseline(kit);
      const reply = await post(kit, JSON.stringify(body) + " ".repeat(4_000_000)).catch(() => null);
      // A server may end the connection before it was sent all of it; that is a refusal too.
      kit.expect(reply === null || reply.status === 413, "a body of 4 MB is refused with 413, or the connection ends");
    },
  },
  {
    name: "request.query_not_merged",
    rule: "Request handling 6: query parameters stay apart from the body",
    needs: "json",
    async run(kit: Kit) {
      const { target, body } = await baseline(kit);
      const reply = await kit.json("POST", `${target}?conformance_unknown=1`, body);
      kit.expect(BAD.includes(reply.status), "an unknown query parameter is refused with 400 or 422");
    },
  },
  refuses(
    "json.duplicate_member",
    "duplicate member names are rejected",
    ({ member }, text) => `{"${member}":"x",${text.slice(1)}`,
    BAD,
  ),
  refuses(
    "json.unknown_member",
    "unknown members are rejected",
    ({ body }) => JSON.stringify({ ...body, conformance_unknown: 1 }),
    BAD,
  ),
  refuses("json.wrong_type", "a boolean is not a string", withMember(true), BAD),
  refuses("json.null", "null is not an omitted member", withMember(null), BAD),
  refuses("json.empty_text", "an empty string is not an omitted member", withMember(""), BAD),
  refuses("json.trailing_data", "trailing data is rejected", (_part, text) => `${text}{}`, BAD),
  refuses("json.comment", "comments are rejected", (_part, text) => `/* conformance */${text}`, BAD),
  refuses(
    "json.nan",
    "NaN is rejected",
    ({ body, member }) => JSON.stringify({ ...body, [member]: 0 }).replace(":0", ":NaN"),
    BAD,
  ),
  refuses(
    "json.unquoted_name",
    "unquoted names are rejected",
    ({ member }, text) => text.replace(`"${member}":`, `${member}:`),
    BAD,
  ),
  {
    name: "error.shape",
    rule: "Errors: structured errors carry a stable code and a message",
    needs: "json",
    async run(kit: Kit) {
      const { target } = await baseline(kit);
      const reply = await kit.json("POST", target, {});
      kit.expect(isRefusal(reply), "an empty object is refused");
      const type = reply.headers["content-type"] ?? "";
      kit.expect(/^application\/(problem\+)?json/.test(type), "the refusal is JSON");
      kit.expect(textOf(reply.json, "code") !== "" || textOf(reply.json, "error") !== "", "the refusal has a code");
      kit.expect(textOf(reply.json, "message") !== "", "the refusal has a message");
    },
  },
  {
    name: "url.segment_decoded_once",
    rule: "URL construction 5: percent escapes are decoded once",
    needs: "segment",
    async run(kit: Kit) {
      const { target = "", value = "" } = kit.profile.segment ?? {};
      const once = encodeURIComponent(value);
      const found = await kit.send({ method: "GET", target: target.replace("{segment}", once) });
      kit.expect(isSuccess(found), "the value, encoded once, is found");
      const twice = await kit.send({ method: "GET", target: target.replace("{segment}", encodeURIComponent(once)) });
      kit.expect(isRefusal(twice), "the value, encoded twice, is another value and not found");
    },
  },
  {
    name: "url.repeated_scalar",
    rule: "URL construction 6: repeated scalar query parameters are rejected",
    needs: "scalar",
    async run(kit: Kit) {
      const { target = "", name = "", value = "" } = kit.profile.scalar ?? {};
      const pair = `${name}=${encodeURIComponent(value)}`;
      kit.expect(isSuccess(await kit.send({ method: "GET", target: `${target}?${pair}` })), "one is accepted");
      const reply = await kit.send({ method: "GET", target: `${target}?${pair}&${name}=other` });
      kit.expect(BAD.includes(reply.status), "two are refused with 400 or 422");
    },
  },
  {
    name: "access.token_missing",
    rule: "Authentication 2: every accepted request is authorized",
    needs: "access",
    async run(kit: Kit) {
      const reply = await kit.send({ method: "GET", target: kit.profile.access?.target ?? "/", token: null });
      kit.expect(reply.status === 401, "no token is 401");
      kit.expect(reply.headers["www-authenticate"] !== undefined, "401 names the scheme in WWW-Authenticate");
    },
  },
  {
    name: "access.token_altered",
    rule: "Authentication 2: a token format alone establishes nothing",
    needs: "access",
    async run(kit: Kit) {
      const target = kit.profile.access?.target ?? "/";
      kit.expect(isSuccess(await kit.send({ method: "GET", target })), "the token is accepted");
      const token = kit.token ?? "";
      const altered = `${token.slice(0, -8)}${token.slice(-8) === "AAAAAAAA" ? "BBBBBBBB" : "AAAAAAAA"}`;
      const reply = await kit.send({ method: "GET", target, token: altered });
      kit.expect(reply.status === 401, "a token with another ending is 401");
    },
  },
];

/** They come last: a provider that takes one of these shapes has revoked the kit's own token with it. */
export const noBodyChecks: readonly Check[] = [
  noBody("no_body.json", "{} with a JSON type is rejected", { "content-type": json }, "{}"),
  noBody("no_body.form", "a form body is rejected", { "content-type": "application/x-www-form-urlencoded" }, "a=b"),
  noBody("no_body.content_type", "no Content-Type is accepted", { "content-type": json }),
  noBody("no_body.chunked", "chunked framing with a zero-length chunk is rejected", { "transfer-encoding": "chunked" }),
  noBody("no_body.query", "no query parameters are merged", {}, undefined, "?conformance_unknown=1"),
];

function noBody(
  name: string,
  rule: string,
  headers: Readonly<Record<string, string>>,
  body?: string,
  query = "",
): Check {
  return {
    name,
    rule: `Request handling 8: ${rule}`,
    needs: "no_body",
    async run(kit: Kit) {
      const target = `${kit.profile.no_body?.target ?? "/"}${query}`;
      const reply = await kit.send({ method: "POST", target, headers, ...(body === undefined ? {} : { body }) });
      kit.expect(isRefusal(reply), "refused");
      kit.expect(memberOf(reply.json, "code") !== "not_found", "refused for its shape");
    },
  };
}
