import fc from "fast-check";
import { defaults } from "../../../src/kernel/defaults.ts";
import { JSON_TYPE } from "./hostile/entry.ts";

const BODY = '{"name":"zwölf"}';
const LENGTH = Buffer.byteLength(BODY);
const oddly = fc.constantFrom;

const field = fc.oneof(
  {
    weight: 4,
    arbitrary: oddly("Accept: */*", "accept:  a", "Accept:", "Accept: ", "User-Agent: a b\tc", "PREFER: wait=3"),
  },
  {
    weight: 4,
    arbitrary: oddly(
      "Prefer: wait=99999999999",
      "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    ),
  },
  {
    weight: 3,
    arbitrary: oddly(JSON_TYPE, "Content-Type: text/plain", "Content-Type: application/json; charset=utf-8"),
  },
  {
    weight: 2,
    arbitrary: oddly(
      "Connection: keep-alive",
      "Connection: Keep-Alive",
      "Connection: close",
      "Connection: keep-alive, x",
    ),
  },
  {
    weight: 1,
    arbitrary: oddly("Transfer-Encoding: chunked", "Expect: 100-continue", "Expect: x", "Upgrade: h2c", "TE: trailers"),
  },
  {
    weight: 1,
    arbitrary: oddly(
      "X-Any: y",
      " folded",
      "Accept : x",
      "Accept: \x80",
      "Accept: \0",
      "Accept: a\rb",
      "Accept: a\nHost: b",
    ),
  },
);
const length = fc.oneof(
  { weight: 6, arbitrary: fc.constant(`Content-Length: ${LENGTH}`) },
  {
    weight: 3,
    arbitrary: oddly(
      "",
      "0",
      `0${LENGTH}`,
      `+${LENGTH}`,
      `${LENGTH} `,
      `${LENGTH}, ${LENGTH}`,
      "3",
      "4096",
      "4097",
      "1e1",
    ).map((text) => `Content-Length: ${text}`),
  },
  {
    weight: 1,
    arbitrary: oddly(
      "Accept-Language: x",
      `Content-Length:${LENGTH}`,
      `Content-Length: ${LENGTH}\r\nContent-Length: ${LENGTH}`,
    ),
  },
);
const target = fc.oneof(
  {
    weight: 3,
    arbitrary: oddly(
      "/v1/things",
      "/v1/things/a",
      "/v1/nothing",
      "/",
      "/v1/things/%41%2F",
      "/v1/things/%zz",
      "/v1/things/a?b=c",
    ),
  },
  {
    weight: 1,
    arbitrary: oddly(
      "*",
      "http://gw/v1/things/a",
      "//v1/things/a",
      "/v1/things/..",
      "/v1/things/a#b",
      "/v1/things/\xe4",
      "/v1/things/a b",
      "/v1\\things",
      "",
    ),
  },
);
/** Ordinary requests, and every now and then something that one parser might read otherwise than another. */
const message = fc
  .record({
    method: fc.oneof(
      { weight: 8, arbitrary: oddly("GET", "POST") },
      { weight: 1, arbitrary: oddly("get", "PUT", "OPTIONS") },
    ),
    target,
    version: fc.oneof(
      { weight: 12, arbitrary: fc.constant("HTTP/1.1") },
      { weight: 1, arbitrary: oddly("HTTP/1.0", "HTTP/1.1 ", "http/1.1", "HTTP/2.0") },
    ),
    host: fc.oneof(
      { weight: 9, arbitrary: fc.constant(["Host: gw"]) },
      { weight: 1, arbitrary: oddly([], ["Host:"], ["host: a", "Host: b"]) },
    ),
    fields: fc.array(field, { maxLength: 3 }),
    length,
    big: fc.oneof(
      { weight: 12, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: oddly(-1, 0, 1, 200).map((more) => defaults.agentHeaderBytes + more) },
    ),
    eol: fc.oneof({ weight: 12, arbitrary: fc.constant("\r\n") }, { weight: 1, arbitrary: oddly("\n", "\r") }),
  })
  .map(({ method, target, version, host, fields, length, big, eol }) => {
    const hasBody = method === "POST";
    const head = (filler: string): string =>
      [
        `${method} ${target} ${version}`,
        ...host,
        ...fields,
        ...(hasBody ? [length] : []),
        ...(filler === "" ? [] : [filler]),
        "",
        "",
      ].join(eol);
    const filler = big === 0 ? "" : `Sec-Fetch-Mode: ${"x".repeat(Math.max(0, big - head("Sec-Fetch-Mode: ").length))}`;
    return `${head(filler)}${hasBody ? Buffer.from(BODY).toString("latin1") : ""}`;
  });

export const messages = fc.array(message, { minLength: 1, maxLength: 3 });
