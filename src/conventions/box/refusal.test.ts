import assert from "node:assert/strict";
import { test } from "node:test";
import { type BoxRequest, originOf, refuseInBox } from "./refusal.ts";

function at(change: Partial<BoxRequest> & { readonly host?: string }): string {
  const { host = "api.acme.example", ...rest } = change;
  const found = originOf({
    scheme: "https",
    serverName: "api.acme.example",
    method: "GET",
    target: "/x",
    headers: [["host", host]],
    ...rest,
  });
  return found.kind === "origin" ? found.origin : found.why;
}

test("a request is for the origin of its Host field, with its port where that is unusual", () => {
  assert.equal(at({}), "https://api.acme.example");
  assert.equal(at({ host: "API.acme.example:443" }), "https://api.acme.example");
  assert.equal(at({ host: "api.acme.example:8443" }), "https://api.acme.example:8443");
  assert.equal(at({ scheme: "http", serverName: null, host: "127.0.0.1:8080" }), "http://127.0.0.1:8080");
  assert.equal(at({ scheme: "http", serverName: null, host: "api.acme.example:80" }), "http://api.acme.example");
  assert.equal(at({ scheme: "http", serverName: null, host: "api.acme.example:443" }), "http://api.acme.example:443");
  assert.equal(at({ host: "api.acme.example:80" }), "https://api.acme.example:80");
  assert.equal(at({ serverName: "API.acme.example" }), "https://api.acme.example");
});

test("what could be for two hosts, or for none, is refused", () => {
  assert.equal(at({ serverName: "other.example" }), "other_name");
  assert.equal(at({ serverName: null }), "address");
  assert.equal(at({ host: "192.0.2.1", serverName: null }), "address");
  assert.equal(at({ host: "192.0.2.1", serverName: "192.0.2.1" }), "address");
  assert.equal(at({ host: "[::1]", serverName: "[::1]" }), "address");
  assert.equal(at({ headers: [] }), "host_fields");
  assert.equal(
    at({
      headers: [
        ["host", "api.acme.example"],
        ["host", "api.acme.example"],
      ],
    }),
    "host_fields",
  );
  for (const host of ["", "a b", "user@api.acme.example", "api.acme.example:x", "-a.example", "a..example"]) {
    assert.equal(at({ host, serverName: host }), "host", host);
  }
});

test("proxy requests, upgrades and gRPC are refused", () => {
  assert.equal(at({ method: "CONNECT", target: "api.acme.example:443" }), "connect");
  assert.equal(at({ target: "https://api.acme.example/x" }), "whole_url");
  assert.equal(at({ target: "*" }), "whole_url");
  const host = ["host", "api.acme.example"] as const;
  assert.equal(at({ headers: [host, ["upgrade", "websocket"]] }), "upgrade");
  assert.equal(at({ headers: [host, ["content-type", "application/grpc+proto"]] }), "grpc");
});

test("a refusal is a 403 that names its code, and git gets text", () => {
  const told = refuseInBox("box_request_refused", "No.", "curl/8");
  assert.equal(told.status, 403);
  assert.equal(told.reason, "Refused by gw - box_request_refused");
  assert.deepEqual(JSON.parse(told.body.toString()), { message: "No.", error: "box_request_refused", detail: "No." });
  assert.deepEqual(refuseInBox("x", "No.", "git/2.39").headers, [["content-type", "text/plain; charset=utf-8"]]);
  assert.equal(refuseInBox("x", "No.", "git/2.39").body.toString(), "x: No.\n");
  assert.equal(refuseInBox("x", "No.", undefined).headers[0]?.[1], "application/json");
});
