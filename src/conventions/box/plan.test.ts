import assert from "node:assert/strict";
import { test } from "node:test";
import { portsOf } from "./plan.ts";

const portsFor = (...origins: readonly string[]) => portsOf(origins).map(({ scheme, port }) => `${scheme} ${port}`);
const USUAL = ["https 443", "http 80"];

test("the usual ports are served, and those that the packs' origins name", () => {
  assert.deepEqual(portsFor(), USUAL);
  const origins = ["https://api.acme.example", "https://api.acme.example:8443", "http://127.0.0.1:8080"];
  assert.deepEqual(portsFor(...origins), [...USUAL, "https 8443", "http 8080"]);
});

test("a port is served once, as whoever named it first speaks, and never in place of names or of a usual one", () => {
  assert.deepEqual(portsFor("https://a.example:8443", "http://b.example:8443"), [...USUAL, "https 8443"]);
  assert.deepEqual(portsFor("https://a.example:53", "http://b.example:443", "https://c.example:80"), USUAL);
});

test("there are no more than 64 of them", () => {
  const origins = Array.from({ length: 80 }, (_, at) => `https://a.example:${9000 + at}`);
  const ports = portsFor(...origins);
  assert.equal(ports.length, 64);
  assert.equal(ports.at(-1), "https 9061");
});
