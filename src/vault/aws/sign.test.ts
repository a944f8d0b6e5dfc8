import assert from "node:assert/strict";
import { test } from "node:test";
import aws4 from "aws4";
import fc from "fast-check";
import type { RequestToSign, SigningScope } from "../lent.ts";
import { readAwsKeys } from "./keys.ts";
import { signForAws } from "./sign.ts";

const ID = "AKIDEXAMPLEAKIDEXAMP";
const SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
const AT = Date.UTC(2015, 7, 30, 12, 36);

function keysOf(text: string) {
  const keys = readAwsKeys(Buffer.from(text));
  assert.ok(keys !== undefined, text);
  return keys;
}

type Signable = RequestToSign & { readonly scope: SigningScope };

function sign(request: Partial<Signable>, keys = keysOf(`${ID}:${SECRET}`)): Record<string, string> {
  const whole: Signable = {
    method: "GET",
    url: "https://service.us-east-1.amazonaws.com/",
    headers: {},
    body: null,
    atMs: AT,
    scope: { region: "us-east-1", service: "service" },
    ...request,
  };
  return Object.fromEntries(signForAws(whole, keys).map(({ name, value }) => [name, value.use(String)]));
}

/** The same request signed by a library that many programs use. */
function signByAws4({ method, url, headers, body, scope }: Signable, sessionToken?: string): Record<string, string> {
  const { host, pathname, search } = new URL(url);
  const at = "20150830T123600Z";
  const signed = aws4.sign(
    {
      method,
      host,
      path: pathname + search,
      service: scope.service,
      region: scope.region,
      headers: { ...headers, "X-Amz-Date": at },
      ...(body === null ? {} : { body }),
      extraHeadersToIgnore: { "content-length": true },
    } as aws4.Request,
    { accessKeyId: ID, secretAccessKey: SECRET, ...(sessionToken === undefined ? {} : { sessionToken }) },
  );
  return Object.fromEntries(
    Object.entries(signed.headers ?? {}).map(([name, value]) => [name.toLowerCase(), String(value)]),
  );
}

const unreserved = fc.string({ unit: fc.constantFrom(..."abcXYZ019-._~ äß/+&=%*'()!:@,;$"), maxLength: 12 });

test("a signature is the one that another implementation makes of the same request", () => {
  fc.assert(
    fc.property(
      fc.constantFrom("s3", "execute-api", "lambda"),
      fc.constantFrom("GET", "PUT", "POST", "DELETE"),
      fc.array(unreserved, { maxLength: 4 }),
      fc.array(fc.tuple(unreserved, unreserved), { maxLength: 4 }),
      fc.option(fc.string({ unit: "binary", maxLength: 60 }), { nil: null }),
      fc.boolean(),
      (service, method, segments, query, text, temporary) => {
        // Of an encoded slash in the name of an S3 object the two think differently, so that none is in these.
        const path = segments
          .map((segment) => strict(service === "s3" ? segment.replaceAll("/", "") : segment))
          .filter((segment) => !/^(%2E|\.)*$/i.test(segment));
        const search = query.filter(([name]) => name !== "").map(([name, value]) => `${strict(name)}=${strict(value)}`);
        const url = `https://host.example/${path.join("/")}${search.length > 0 ? `?${search.join("&")}` : ""}`;
        const token = temporary ? "FQoGZXIvYXdzEXAMPLETOKEN==" : undefined;
        const body = text === null ? null : Buffer.from(text);
        // The library signs this field for S3 alone unless it is given.
        const digest = sign({ url, body })["x-amz-content-sha256"] ?? "";
        const request: Signable = {
          method,
          url,
          headers: { "content-type": "application/json" },
          body,
          atMs: AT,
          scope: { region: "eu-west-1", service },
        };
        const ours = sign(request, keysOf(token === undefined ? `${ID}:${SECRET}` : `${ID}:${SECRET}:${token}`));
        const theirs = signByAws4(
          { ...request, headers: { ...request.headers, "X-Amz-Content-Sha256": digest } },
          token,
        );
        assert.equal(ours["authorization"], theirs["authorization"], url);
        assert.equal(ours["x-amz-security-token"], theirs["x-amz-security-token"]);
      },
    ),
  );
});

function strict(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

test("another body, path, query, host, region, service or minute gives another signature", () => {
  const signatures = [
    sign({}),
    sign({ body: Buffer.from("x") }),
    sign({ url: "https://service.us-east-1.amazonaws.com/x" }),
    sign({ url: "https://service.us-east-1.amazonaws.com/?x=1" }),
    sign({ url: "https://other.us-east-1.amazonaws.com/" }),
    sign({ scope: { region: "eu-west-1", service: "service" } }),
    sign({ scope: { region: "us-east-1", service: "other" } }),
    sign({ atMs: AT + 60_000 }),
    sign({ method: "DELETE" }),
    sign({ headers: { "x-amz-acl": "public-read" } }),
  ].map(({ authorization = "" }) => authorization.slice(-64));
  assert.equal(new Set(signatures).size, signatures.length);
});

test("the secret key is in no field, and the session token in its own alone", () => {
  const fields = sign({}, keysOf(`${ID}:${SECRET}:FQoGZXIvYXdzEXAMPLETOKEN`));
  assert.deepEqual(Object.keys(fields).sort(), [
    "authorization",
    "x-amz-content-sha256",
    "x-amz-date",
    "x-amz-security-token",
  ]);
  assert.ok(!JSON.stringify(fields).includes(SECRET));
  assert.ok(!fields["authorization"]?.includes("FQoGZXIvYXdzEXAMPLETOKEN"));
});

test("what is no access key is known at the door", () => {
  for (const text of [
    "",
    ID,
    `${ID}:`,
    `${ID}:short`,
    `:${SECRET}`,
    `${ID}:${SECRET}\n`,
    `${ID}:${SECRET}:`,
    `${ID}:${SECRET}:a b`,
    `id:${SECRET}`,
  ]) {
    assert.equal(readAwsKeys(Buffer.from(text)), undefined, text);
  }
});
