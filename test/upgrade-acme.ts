import type { AgentScope } from "../src/conventions/upgrade/compare/agent-scope.ts";
import { type Review, reviewUpgrade } from "../src/conventions/upgrade/compare/review.ts";
import { readDocument } from "../src/conventions/upgrade/document/read-document.ts";
import type { Api } from "../src/conventions/upgrade/model/api.ts";
import { buildApi } from "../src/conventions/upgrade/model/build-api.ts";

/** JSON that a test may change: a document before it is written down. */
export type Loose = { [name: string]: unknown };

/** The object or list at a place such as `paths > /projects > get`. */
export function at(document: Loose, place: string): Loose & unknown[] {
  let node: unknown = document;
  for (const name of place.split(" > ")) node = (node as Loose)[name];
  return node as Loose & unknown[];
}

export function put(place: string, value: unknown): (document: Loose) => void {
  return (document) => {
    const cut = place.lastIndexOf(" > ");
    (cut < 0 ? document : at(document, place.slice(0, cut)))[cut < 0 ? place : place.slice(cut + 3)] = value;
  };
}

export function drop(place: string): (document: Loose) => void {
  return (document) => {
    const cut = place.lastIndexOf(" > ");
    const holder = cut < 0 ? document : at(document, place.slice(0, cut));
    const name = cut < 0 ? place : place.slice(cut + 3);
    if (Array.isArray(holder)) holder.splice(Number(name), 1);
    else delete holder[name];
  };
}

export function push(place: string, value: unknown): (document: Loose) => void {
  return (document) => {
    at(document, place).push(value);
  };
}

export function move(from: string, to: string): (document: Loose) => void {
  return (document) => {
    put(to, at(document, from))(document);
    drop(from)(document);
  };
}

export function all(...changes: readonly ((document: Loose) => void)[]): (document: Loose) => void {
  return (document) => {
    for (const change of changes) change(document);
  };
}

const read = {
  "200": { description: "ok", content: { "application/json": { schema: { $ref: "#/components/schemas/Project" } } } },
  "403": { description: "no" },
  "404": { description: "none" },
};

/** A small API with one of everything that a review looks at. */
export function acme(): Loose {
  return structuredClone({
    openapi: "3.1.0",
    info: { title: "Acme", version: "2026-01-01" },
    servers: [{ url: "https://api.acme.example/v1" }],
    security: [{ oauth: ["projects:read"] }],
    components: {
      securitySchemes: {
        oauth: {
          type: "oauth2",
          flows: {
            clientCredentials: {
              tokenUrl: "https://login.acme.example/token",
              scopes: { "projects:read": "", "projects:write": "", "members:write": "", spare: "" },
            },
          },
        },
        key: { type: "apiKey", in: "header", name: "X-Api-Key" },
        spare: { type: "http", scheme: "digest" },
      },
      schemas: {
        Project: {
          type: "object",
          required: ["id", "name"],
          properties: {
            id: { type: "string" },
            name: { type: "string" },
            owner: { $ref: "#/components/schemas/Member" },
            children: { type: "array", items: { $ref: "#/components/schemas/Project" } },
          },
        },
        Member: {
          type: "object",
          required: ["subject_id", "role"],
          properties: {
            subject_id: { type: "string" },
            role: { type: "string", enum: ["viewer", "editor", "owner"] },
            note: { type: "string", maxLength: 100 },
          },
        },
        Page: {
          type: "object",
          properties: {
            data: { type: "array", items: { $ref: "#/components/schemas/Project" } },
            next_cursor: { type: ["string", "null"] },
          },
        },
        Job: {
          type: "object",
          properties: { job_id: { type: "string" }, state: { type: "string", enum: ["running", "done"] } },
        },
      },
    },
    paths: {
      "/projects": {
        get: {
          operationId: "listProjects",
          parameters: [
            {
              name: "state",
              in: "query",
              schema: { type: "string", enum: ["active", "archived", "all"], default: "active" },
            },
            { name: "limit", in: "query", schema: { type: "integer", default: 50, maximum: 100 } },
            { name: "cursor", in: "query", schema: { type: "string" } },
            { name: "team_id", in: "query", required: true, schema: { type: "string" } },
          ],
          responses: {
            "200": {
              description: "ok",
              headers: { Link: { schema: { type: "string" } } },
              content: { "application/json": { schema: { $ref: "#/components/schemas/Page" } } },
            },
            "401": { description: "no" },
          },
        },
        post: {
          operationId: "createProject",
          security: [{ oauth: ["projects:write"] }],
          requestBody: {
            required: true,
            content: {
              "application/json": {
                schema: {
                  type: "object",
                  required: ["name"],
                  additionalProperties: false,
                  properties: { name: { type: "string", maxLength: 64 }, notify: { type: "boolean", default: false } },
                },
              },
            },
          },
          responses: {
            "201": {
              description: "made",
              content: { "application/json": { schema: { $ref: "#/components/schemas/Project" } } },
            },
            "403": { description: "no" },
          },
        },
      },
      "/projects/{project_id}": {
        parameters: [{ name: "project_id", in: "path", required: true, schema: { type: "string" } }],
        get: { operationId: "getProject", responses: read },
        delete: {
          operationId: "deleteProject",
          security: [{ oauth: ["projects:write"] }, { key: [] }],
          responses: { "204": { description: "gone" }, "403": { description: "no" } },
        },
      },
      "/projects/{project_id}/members": {
        parameters: [{ name: "project_id", in: "path", required: true, schema: { type: "string" } }],
        post: {
          operationId: "addMember",
          description: "Adds a member.\n\nYour credential must have one of these roles:\n* Member admin\n* Owner",
          security: [{ oauth: ["members:write"], key: [] }],
          requestBody: {
            required: true,
            content: { "application/json": { schema: { $ref: "#/components/schemas/Member" } } },
          },
          responses: {
            "201": {
              description: "made",
              content: { "application/json": { schema: { $ref: "#/components/schemas/Member" } } },
            },
            "403": { description: "no" },
          },
        },
      },
      "/health": { get: { operationId: "getHealth", security: [], responses: { "200": { description: "ok" } } } },
      "/jobs/{job_id}": {
        get: {
          operationId: "getJob",
          parameters: [{ name: "job_id", in: "path", required: true, schema: { type: "string" } }],
          responses: {
            "200": {
              description: "ok",
              content: { "application/json": { schema: { $ref: "#/components/schemas/Job" } } },
              links: { cancel: { operationId: "getProject", parameters: { project_id: "$response.body#/job_id" } } },
            },
          },
        },
      },
    },
  });
}

export const acmePack: readonly AgentScope[] = [
  { action: "acme.project.list", method: "GET", path: "/v1/projects", credential: "acme-read", effect: "read" },
  {
    action: "acme.project.get",
    method: "GET",
    path: "/v1/projects/{project_id}",
    credential: "acme-read",
    effect: "read",
  },
  {
    action: "acme.member.add",
    method: "POST",
    path: "/v1/projects/{project_id}/members",
    credential: "acme-members",
    effect: "write",
  },
];

export function api(document: unknown, name = "acme.json"): Api {
  return buildApi(readDocument(name, Buffer.from(typeof document === "string" ? document : JSON.stringify(document))));
}

export function reviewOf(before: unknown, after: unknown, pack: readonly AgentScope[] = []): Review {
  return reviewUpgrade(api(before, "old.json"), api(after, "new.json"), pack);
}

/** Review of the document against itself with one change. */
export function reviewChange(change: (document: Loose) => void, pack: readonly AgentScope[] = []): Review {
  const after = acme();
  change(after);
  return reviewOf(acme(), after, pack);
}

/** `surface kind change subject|at` of each difference: what a test compares. */
export function brief(review: Review): readonly string[] {
  return review.differences
    .map(({ surface, kind, change, subject, at }) => `${surface} ${kind} ${change} ${subject}|${at}`)
    .sort();
}

/** Shuffles every object's members, and the lists whose order means nothing, by a given source of chance. */
export function shuffled(value: unknown, next: () => number): unknown {
  if (Array.isArray(value)) return value.map((item) => shuffled(item, next));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([name, member]) => ({ name, member, key: next() }));
  entries.sort((a, b) => a.key - b.key);
  return Object.fromEntries(
    entries.map(({ name, member }) => {
      const inner = shuffled(member, next);
      const free =
        Array.isArray(inner) &&
        ["required", "enum", "parameters", "security", "servers", "tags", "schemes"].includes(name);
      return [
        name,
        free
          ? inner
              .map((item) => ({ item, key: next() }))
              .sort((a, b) => a.key - b.key)
              .map(({ item }) => item)
          : inner,
      ];
    }),
  );
}
