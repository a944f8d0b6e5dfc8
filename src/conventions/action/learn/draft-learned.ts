/**
 * Drafts packs from what a contained run was refused: what varied becomes typed inputs, what is done is asked about each
 * time, and a remark stands wherever a person must look. Nothing is trusted by it.
 */
import type { JsonObject, JsonValue } from "../../../kernel/json.ts";
import { cleanText, writeComment, writeFlow } from "../draft/write-flow.ts";
import { readPack } from "../read.ts";
import { PACK_FORMAT } from "../schema/pack.ts";
import { groupSamples, type SampleGroup } from "./group-samples.ts";
import { inferSchema } from "./infer-schema.ts";
import { type RefusedRequest, readSample, type Sample } from "./read-samples.ts";

export interface LearnedPack {
  readonly pack: string;
  readonly origin: string;
  readonly text: string;
  readonly actions: readonly string[];
  readonly leftOut: readonly { readonly operation: string; readonly why: string }[];
}

export function draftLearned(requests: readonly RefusedRequest[]): readonly LearnedPack[] {
  const origins = Map.groupBy(requests, ({ origin }) => origin);
  return [...origins].flatMap(([origin, own]) => draftOrigin(origin, own) ?? []);
}

function draftOrigin(origin: string, requests: readonly RefusedRequest[]): LearnedPack | null {
  // What a tool says it wants to reach need not be any place.
  const place = URL.parse(origin);
  if (place === null) return null;
  const leftOut: LearnedPack["leftOut"][number][] = [];
  const samples: Sample[] = [];
  for (const request of requests) {
    const sample = readSample(request);
    if (typeof sample === "string") leftOut.push({ operation: `${request.method} ${request.target}`, why: sample });
    else samples.push(sample);
  }
  const blocks = new Map<string, readonly string[]>();
  for (const group of groupSamples(samples)) blocks.set(...draftBlock(group, blocks));
  const { hostname } = place;
  const pack = nameOf(/^[a-z]/.test(hostname) ? hostname : `at ${hostname}`, "-")
    .slice(0, 32)
    .replace(/-+$/, "");
  for (;;) {
    if (blocks.size === 0) return null;
    const text = assemble(pack, origin, [...blocks.values()], leftOut);
    const refused = refusedActions(text);
    if (refused.size === 0) return { pack, origin, text, actions: [...blocks.keys()], leftOut };
    // The reader has the last word: what it would refuse does not stand in the draft either.
    for (const [name, why] of refused) {
      leftOut.push({ operation: name, why });
      if (!blocks.delete(name)) return null;
    }
  }
}

function draftBlock(group: SampleGroup, taken: ReadonlyMap<string, unknown>): [string, readonly string[]] {
  const { method, shape, samples } = group;
  const [first] = samples as [Sample];
  const { body } = first;
  const effect = effectOf(method, body);
  const name = freeName(baseName(group), taken);
  const path = `/${[...shape.map((segment, at) => segment ?? `{${parameterName(shape, at)}}`)].join("/")}${first.trailingSlash ? "/" : ""}`;
  const request: Record<string, JsonValue> = { method, path };
  if (body.kind === "json" || body.kind === "graphql") request["body"] = "application/json";
  if (body.kind === "form") request["body"] = "application/x-www-form-urlencoded";
  if (body.kind === "opaque") Object.assign(request, { body: "opaque", media_type: body.mediaType });
  const accept = acceptOf(samples);
  if (accept !== null) request["accept"] = accept;
  const inputs = [...pathInputs(shape, samples), ...queryInputs(samples), ...bodyInputs(samples)];
  const seen = samples.length === 1 ? "once" : `${samples.length} times`;
  return [
    name,
    [
      writeComment(
        `REVIEW: seen ${seen}; what it does is a guess from ${body.kind === "graphql" ? "its document" : method}.`,
      ),
      `${name}:`,
      `  effect: ${effect}`,
      ...(effect === "read" ? [] : ["  preview: none", "  needs: { approval: each_use }"]),
      `  request: ${writeFlow(request)}`,
      ...(inputs.length === 0 ? [] : ["  input:"]),
      ...inputs.map(([input, schema]) => `    ${input}: ${writeFlow(schema)}${remarkOn(input)}`),
    ],
  ];
}

type Input = readonly [name: string, schema: JsonObject];

function pathInputs(shape: SampleGroup["shape"], samples: readonly Sample[]): readonly Input[] {
  return shape.flatMap((segment, at): readonly Input[] => {
    if (segment !== null) return [];
    return [[parameterName(shape, at), { in: "path", ...textSchema(samples.map((one) => one.segments[at] ?? "")) }]];
  });
}

function queryInputs(samples: readonly Sample[]): readonly Input[] {
  return pairInputs(
    "query",
    samples.map(({ query }) => query),
  );
}

function bodyInputs(samples: readonly Sample[]): readonly Input[] {
  const [{ body }] = samples as [Sample];
  if (body.kind === "none") return [];
  if (body.kind === "opaque") return [["content", { in: "body", type: "string", maxLength: 8_388_608 }]];
  if (body.kind === "form")
    return pairInputs(
      "body",
      samples.flatMap((one) => (one.body.kind === "form" ? [one.body.pairs] : [])),
    );
  const objects = samples.flatMap((one) => ("members" in one.body ? [one.body.members] : []));
  const names = [...new Set(objects.flatMap((one) => Object.keys(one)))];
  return names.map((wireName): Input => {
    const values = objects.flatMap((one) => (one[wireName] === undefined ? [] : [one[wireName]]));
    const isDocument = body.kind === "graphql" && wireName === "query";
    const schema: JsonObject = isDocument
      ? { language: "graphql", const: body.key }
      : (inferSchema(values) ?? { type: ["string", "null"], maxLength: 256 });
    return placed("body", isDocument ? "document" : wireName, wireName, schema, values.length < objects.length);
  });
}

function pairInputs(place: "query" | "body", pairs: readonly Sample["query"][]): readonly Input[] {
  const names = [...new Set(pairs.flatMap((one) => [...one.keys()]))];
  return names.map((wireName) => {
    const values = pairs.flatMap((one) => (one.has(wireName) ? [one.get(wireName) ?? []] : []));
    const schema: JsonObject = values.some(({ length }) => length > 1)
      ? { type: "array", maxItems: 100, items: textSchema(values.flat()) }
      : textSchema(values.flat());
    return placed(place, wireName, wireName, schema, values.length < pairs.length);
  });
}

function placed(place: string, base: string, wireName: string, schema: JsonObject, optional: boolean): Input {
  const name = /^[A-Za-z][A-Za-z0-9_]{0,63}$/.test(base) ? base : nameOf(base, "_");
  const said: Record<string, JsonValue> = { in: place };
  if (name !== wireName) said["as"] = wireName;
  if (optional) said["optional"] = true;
  if (SECRET.test(wireName)) said["sensitive"] = true;
  return [name, { ...said, ...schema }];
}

/** Text of a path, a query or a form, typed by what it looked like every time. */
function textSchema(texts: readonly string[]): JsonObject {
  const isWhole = texts.every((text) => /^(?:0|[1-9]\d{0,14})$/.test(text));
  const isFlag = texts.every((text) => text === "true" || text === "false");
  const values: readonly JsonValue[] = isWhole
    ? texts.map(Number)
    : isFlag
      ? texts.map((text) => text === "true")
      : texts;
  return inferSchema(values) ?? { type: "string", maxLength: 256 };
}

const SECRET = /token|secret|passw|api_?key|credential/i;

function remarkOn(input: string): string {
  return SECRET.test(input) ? " # REVIEW: looks like a secret; the gateway adds credentials itself" : "";
}

function effectOf(method: string, body: Sample["body"]): "read" | "write" {
  if (body.kind === "graphql") return body.operation.kind === "query" ? "read" : "write";
  return method === "GET" || method === "HEAD" ? "read" : "write";
}

/** One that is not JSON, where all ask for the same one. */
function acceptOf(samples: readonly Sample[]): string | null {
  const [accept = "", other] = [...new Set(samples.map((one) => (one.accept ?? "").split(/[,;]/)[0]?.trim() ?? ""))];
  if (other !== undefined || !/^[a-z0-9.+-]+\/[a-z0-9.+-]+$/.test(accept) || accept.endsWith("json")) return null;
  return accept;
}

function baseName({ method, shape, samples }: SampleGroup): string {
  const body = samples[0]?.body;
  if (body?.kind === "graphql" && body.operation.name !== null) return nameOf(body.operation.name, "_");
  const words = shape.filter((segment) => segment !== null && !/^v\d+$/.test(segment)).slice(-2);
  return [nameOf(words.join("_"), "_"), method.toLowerCase()].filter(Boolean).join(".");
}

function freeName(base: string, taken: ReadonlyMap<string, unknown>): string {
  for (let count = 1; ; count++) {
    const name = count === 1 ? base : `${base}_${count}`;
    if (!taken.has(name)) return name;
  }
}

/** After the word before it: `/users/{user_id}`. */
function parameterName(shape: SampleGroup["shape"], at: number): string {
  const before = shape[at - 1];
  const word = before === null || before === undefined ? "" : nameOf(before, "_").replace(/s$/, "");
  return word === "" ? `part_${at + 1}` : `${word}_id`;
}

/** Lower-case words, joined. */
function nameOf(text: string, joint: "-" | "_"): string {
  const words = text
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z0-9]+/);
  return (
    words
      .filter(Boolean)
      .join(joint)
      .replace(/^[^a-z]+/, "")
      .slice(0, 48) || "x"
  );
}

function assemble(
  pack: string,
  origin: string,
  blocks: readonly (readonly string[])[],
  leftOut: LearnedPack["leftOut"],
): string {
  const lines = [
    writeComment("Drafted from requests that a contained run was refused. Nothing here is trusted yet."),
    writeComment(
      "Look at every REVIEW, narrow the types, and take out what agents do not need: the shorter, the safer.",
    ),
    ...leftOut.map(({ operation, why }) => writeComment(`REVIEW: ${operation} is left out: ${why}`.slice(0, 400))),
    `format: ${PACK_FORMAT}`,
    `pack: ${pack}`,
    "",
    "provider:",
    `  origin: ${writeFlow(origin)}`,
    writeComment(
      "REVIEW: name the credential and how it is presented, or leave both out for a provider that wants none.",
    ),
    writeComment(`  credential: ${pack}`),
    writeComment("  auth: { scheme: bearer }"),
    "",
    "actions:",
    ...blocks.flatMap((block) => [...block.map((line) => `  ${line}`), ""]),
  ];
  return `${lines.join("\n").trimEnd()}\n`;
}

function refusedActions(text: string): ReadonlyMap<string, string> {
  const refused = new Map<string, string>();
  for (const { severity, path, message } of readPack(Buffer.from(text, "utf8"), "draft").findings) {
    if (severity === "error") refused.set(/^\/actions\/([^/]+)/.exec(path)?.[1] ?? path, cleanText(message));
  }
  return refused;
}
