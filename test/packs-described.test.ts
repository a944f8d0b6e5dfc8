import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { ActionDefinition, HttpAction } from "../src/conventions/action/pack.ts";
import { readPack } from "../src/conventions/action/read.ts";

/** What the providers' own packages say, as scripts/describe-providers.ts read it from them. */
interface Operation {
  readonly method: string;
  readonly path: string;
  readonly names: readonly string[];
}
interface Described {
  readonly package: string;
  readonly operations?: Readonly<Record<string, Operation>>;
  readonly types?: Readonly<Record<string, readonly string[]>>;
}

const here = import.meta.dirname;
const described = JSON.parse(readFileSync(join(here, "fixtures/described-providers.json"), "utf8")) as Readonly<
  Record<string, Described>
>;
const textOf = (name: string): string => readFileSync(join(here, `../packs/${name}.yaml`), "utf8");
const bare = (path: string): string => path.replaceAll(/\{[^}]*\}/g, "{}");

function actionsOf(name: string): readonly HttpAction[] {
  const { pack, findings } = readPack(Buffer.from(textOf(name)), `${name}.yaml`);
  assert.deepEqual(findings, [], "no error, and no warning");
  return [...(pack?.actions.values() ?? [])].filter(isHttp);
}

function isHttp(action: ActionDefinition): action is HttpAction {
  return action.kind === "http";
}

const nameOf = ({ wireName }: HttpAction["inputs"][number]): string => wireName;

for (const [name, { package: source, operations = {} }] of Object.entries(described)) {
  test(`every action of ${name} is an operation that ${source.split(" ")[0]} knows, with names that it takes`, () => {
    // The head of a pack says what it was checked against.
    assert.ok(textOf(name).replaceAll(/\n# /g, " ").includes(source), source);
    if (name === "microsoft-graph") return;
    for (const action of actionsOf(name)) {
      const constant = action.inputs.find((input) => nameOf(input) === "Action")?.constant;
      const found =
        typeof constant === "string"
          ? operations[constant]
          : Object.values(operations).find(
              ({ method, path }) => method === action.method && path === bare(action.template.text),
            );
      assert.ok(found !== undefined, action.qualifiedName);
      const known = found.names.map((one) => one.toLowerCase());
      for (const input of action.inputs.filter(({ place }) => place !== "path")) {
        // EC2 counts the elements of a list: InstanceId.1
        const [first = ""] = nameOf(input).toLowerCase().split(".");
        const whole = name === "aws-ec2" && ["action", "version"].includes(first);
        const payload = first === "" || input.part === "bytes";
        assert.ok(whole || payload || known.includes(first), `${action.qualifiedName} ${first}`);
      }
    }
  });
}

test("what microsoft-graph writes are members of a message and of an event", () => {
  const { Message = [], Event = [] } = described["microsoft-graph"]?.types ?? {};
  for (const action of actionsOf("microsoft-graph")) {
    for (const { schema, place, name, wireName } of action.inputs.filter((one) => one.place === "body")) {
      assert.equal(place, "body");
      if (action.name === "event.create") assert.ok(Event.includes(wireName), name);
      if (name === "message")
        for (const member of Object.keys(schema.properties ?? {})) assert.ok(Message.includes(member));
    }
  }
});

test("every path of github-app is one that @octokit/openapi-types knows, under the names that GitHub gives its parts", () => {
  const types = readFileSync(join(here, "../node_modules/@octokit/openapi-types/types.d.ts"), "utf8");
  const { version } = JSON.parse(
    readFileSync(join(here, "../node_modules/@octokit/openapi-types/package.json"), "utf8"),
  );
  assert.ok(textOf("github-app").replaceAll(/\n# /g, " ").includes(`@octokit/openapi-types ${version}`));
  for (const action of actionsOf("github-app")) {
    const start = types.indexOf(`\n  "${action.template.text}": {`);
    assert.ok(start !== -1, action.template.text);
    const place = types.slice(start, types.indexOf("\n  };", start));
    assert.match(place, new RegExp(`^ {4}${action.method.toLowerCase()}: operations`, "m"), action.qualifiedName);
  }
});
