import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

/**
 * What the packages of providers say of the operations that our packs use, for test/packs-described.test.ts:
 * node scripts/describe-providers.ts FOLDER, with FOLDER/node_modules holding aws-sdk, @googleapis/calendar, @notionhq/client and
 * @microsoft/microsoft-graph-types. They are too large to be installed for a test.
 */
interface Operation {
  readonly method: string;
  /** With {} for every part that a call fills. */
  readonly path: string;
  /** Names in query, headers, form or body. */
  readonly names: readonly string[];
}
interface Shape {
  readonly members?: Readonly<Record<string, { readonly location?: string; readonly locationName?: string }>>;
}
interface Model {
  readonly operations: Readonly<
    Record<
      string,
      { readonly http?: { readonly method?: string; readonly requestUri?: string }; readonly input?: Shape }
    >
  >;
}

const folder = join(process.argv[2] ?? ".", "node_modules");
const load = createRequire(resolve(folder, "x.js"));
const versionOf = (name: string): string =>
  JSON.parse(readFileSync(join(folder, name, "package.json"), "utf8")).version;
const bare = (path: string): string => path.replaceAll(/\{[^}]*\}/g, "{}");

function awsOperations(file: string, names: readonly string[]): Record<string, Operation> {
  const { operations } = load(`aws-sdk/apis/${file}.min.json`) as Model;
  return Object.fromEntries(
    names.map((name) => {
      const { http = {}, input = {} } = operations[name] ?? {};
      const [path = "/", query = ""] = (http.requestUri ?? "/").split("?");
      const members = Object.entries(input.members ?? {}).map(([own, { locationName }]) => locationName ?? own);
      const constants = query === "" ? [] : [query.split("=")[0] ?? ""];
      return [name, { method: http.method ?? "POST", path: bare(path), names: [...members, ...constants].sort() }];
    }),
  );
}

/** The package has code and types, no document: method, path and parameters are read from them. */
function googleOperations(names: readonly (readonly [string, string])[]): Record<string, Operation> {
  const code = readFileSync(join(folder, "@googleapis/calendar/build/v3.js"), "utf8");
  const types = readFileSync(join(folder, "@googleapis/calendar/build/v3.d.ts"), "utf8");
  return Object.fromEntries(
    names.map(([resource, method]) => {
      const start = code.indexOf(`class Resource$${resource} {`);
      const at = code.indexOf(`\n        ${method}(`, start);
      const path = /'(\/calendar\/v3[^']*)'/.exec(code.slice(at))?.[1] ?? "";
      const verb = /method: '([A-Z]+)'/.exec(code.slice(at))?.[1] ?? "";
      const title = `${method[0]?.toUpperCase()}${method.slice(1)}`;
      const own = membersIn(types, `Params$Resource$${resource}$${title} `);
      const body = verb === "POST" ? membersIn(types, "Schema$Event ") : [];
      return [`${resource}.${method}`, { method: verb, path: bare(path), names: [...own, ...body].sort() }];
    }),
  );
}

function membersIn(types: string, name: string): readonly string[] {
  const start = types.indexOf(`interface ${name}`);
  const end =
    types.indexOf("\n    }\n", start) === -1 ? types.indexOf("\n}", start) : types.indexOf("\n    }\n", start);
  return [...types.slice(start, end).matchAll(/^ {4,8}'?(\w+)'?\?:/gm)].map(([, member = ""]) => member);
}

function notionOperations(names: readonly (readonly [string, string])[]): Record<string, Operation> {
  return Object.fromEntries(
    names.map(([file, name]) => {
      const found = load(`@notionhq/client/build/src/api-endpoints/${file}.js`)[name] as {
        method: string;
        path(parts: object): string;
        queryParams: string[];
        bodyParams: string[];
      };
      const path = found.path({ page_id: "{}", block_id: "{}" });
      const taken = [...found.queryParams, ...found.bodyParams].sort();
      return [name, { method: found.method.toUpperCase(), path: `/v1/${path}`, names: taken }];
    }),
  );
}

const graph = readFileSync(join(folder, "@microsoft/microsoft-graph-types/microsoft-graph.d.ts"), "utf8");
const graphMembers = (name: string): readonly string[] => {
  const start = graph.indexOf(`export interface ${name} `);
  return [...graph.slice(start, graph.indexOf("\n}", start)).matchAll(/^ {4}(\w+)\?:/gm)].map(
    ([, member = ""]) => member,
  );
};
const aws = `aws-sdk ${versionOf("aws-sdk")}`;
const described = {
  "aws-s3": {
    package: aws,
    operations: awsOperations("s3-2006-03-01", [
      "ListBuckets",
      "ListObjectsV2",
      "GetObject",
      "PutObject",
      "DeleteObject",
    ]),
  },
  "aws-ec2": {
    package: aws,
    operations: awsOperations("ec2-2016-11-15", [
      ...["DescribeInstances", "DescribeInstanceStatus", "DescribeSecurityGroups", "StartInstances", "StopInstances"],
    ]),
  },
  "aws-lambda": {
    package: aws,
    operations: awsOperations("lambda-2015-03-31", ["ListFunctions", "GetFunctionConfiguration", "Invoke"]),
  },
  "google-calendar": {
    package: `@googleapis/calendar ${versionOf("@googleapis/calendar")}`,
    operations: googleOperations([
      ["Calendarlist", "list"],
      ["Events", "list"],
      ["Events", "get"],
      ["Events", "insert"],
      ["Events", "delete"],
    ]),
  },
  notion: {
    package: `@notionhq/client ${versionOf("@notionhq/client")}`,
    operations: notionOperations([
      ["search", "search"],
      ["pages", "getPage"],
      ["blocks", "listBlockChildren"],
      ["pages", "createPage"],
      ["pages", "updatePage"],
      ["comments", "createComment"],
    ]),
  },
  "microsoft-graph": {
    package: `@microsoft/microsoft-graph-types ${versionOf("@microsoft/microsoft-graph-types")}`,
    types: { Message: graphMembers("Message"), Event: graphMembers("Event") },
  },
};
writeFileSync("test/fixtures/described-providers.json", `${JSON.stringify(described, null, 2)}\n`);
