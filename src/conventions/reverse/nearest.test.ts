import assert from "node:assert/strict";
import { test } from "node:test";
import { readPack } from "../action/read.ts";
import { nearestByPath } from "./nearest.ts";

const action = (name: string, method: string, path: string): string => {
  const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, one]) => `${one}: { in: path, type: string, maxLength: 9 }`);
  const effect = method === "GET" ? "read" : "write";
  return `  ${name}: { effect: ${effect}, request: { method: ${method}, path: "${path}" }, input: { ${named.join(", ")} } }\n`;
};

function nearest(line: string): string | undefined {
  const actions = [
    action("list", "GET", "/users"),
    action("keys", "GET", "/users/{name}/keys"),
    action("drop", "DELETE", "/users/{name}/keys"),
    action("key", "GET", "/users/{name}/keys/{id}"),
    action("home", "GET", "/"),
  ];
  const text = `format: gw.pack/v1\npack: acme\nprovider: { origin: "https://api.acme.example" }\nactions:\n${actions.join("")}`;
  const { pack, findings } = readPack(Buffer.from(text), "acme.yaml");
  assert.ok(pack !== null, JSON.stringify(findings));
  const [method = "", path = ""] = line.split(" ");
  return nearestByPath([pack], method, path)?.action;
}

test("the nearest goes along farthest, then has as many segments, then the same method, then stands first", () => {
  assert.equal(nearest("GET /users/ada/keys/7/parts"), "acme.key");
  assert.equal(nearest("GET /users/ada/gists"), "acme.keys");
  assert.equal(nearest("DELETE /users/ada/gists"), "acme.drop");
  assert.equal(nearest("PUT /users/ada/gists"), "acme.keys");
  assert.equal(nearest("GET /users/ada/gists/7"), "acme.key");
  assert.equal(nearest("GET /user"), undefined);
});
