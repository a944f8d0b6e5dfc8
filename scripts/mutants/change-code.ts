import { parseSync, visitorKeys } from "oxc-parser";

/** One small change of a source: `becomes` in place of what stands from `start` to `end`. */
export interface Change {
  readonly start: number;
  readonly end: number;
  readonly becomes: string;
  readonly line: number;
  /** The line of the source as it stands. */
  readonly code: string;
  /** What it is, in a few words that a person reads in the list of survivors. */
  readonly says: string;
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [member: string]: unknown;
}

const OPPOSITE: Readonly<Record<string, string>> = {
  "===": "!==",
  "!==": "===",
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "+": "-",
  "-": "+",
  "*": "/",
  "/": "*",
  "%": "*",
  "&": "|",
  "|": "&",
  "&&": "||",
  "||": "&&",
};

const METHODS: Readonly<Record<string, string>> = {
  some: "every",
  every: "some",
  min: "max",
  max: "min",
  startsWith: "endsWith",
  endsWith: "startsWith",
};

/**
 * Every small change that could be a mistake of whoever wrote it: a turned comparison, a condition that is always or never
 * true, a number one higher, a statement left out. Types, names and the words of messages stay. Whether the source still parses with one takes
 * a millisecond: who asks for some says which.
 */
export function changesOf(
  file: string,
  source: string,
  isWanted: (change: Change) => boolean = () => true,
): readonly Change[] {
  const { program, errors } = parseSync(file, source);
  if (errors.length > 0) throw new Error(`${file} does not parse: ${errors[0]?.message ?? ""}`);
  const found: Change[] = [];
  const add = (start: number, end: number, becomes: string): void => {
    const line = source.slice(0, start).split("\n").length;
    const code = (source.split("\n")[line - 1] ?? "").trim();
    found.push({ start, end, becomes, line, code, says: `${short(source.slice(start, end))} → ${short(becomes)}` });
  };
  const textOf = ({ start, end }: Node): string => source.slice(start, end);

  const visit = (node: Node): void => {
    if (node.type.startsWith("TS") && !VALUES.has(node.type)) return;
    for (const change of changesAt(node, textOf)) add(change.start, change.end, change.becomes);
    for (const key of visitorKeys[node.type] ?? []) {
      const below = node[key];
      for (const one of Array.isArray(below) ? below : [below]) if (isNode(one)) visit(one);
    }
  };
  visit(program as unknown as Node);
  return found.filter(isWanted).filter(({ start, end, becomes }) => {
    const changed = source.slice(0, start) + becomes + source.slice(end);
    return parseSync(file, changed).errors.length === 0;
  });
}

/** Of the nodes that only TypeScript has, those that hold something which runs. */
const VALUES = new Set(["TSAsExpression", "TSNonNullExpression", "TSSatisfiesExpression"]);

type Place = Pick<Change, "start" | "end" | "becomes">;

function changesAt(node: Node, textOf: (node: Node) => string): readonly Place[] {
  const { start, end } = node;
  switch (node.type) {
    case "BinaryExpression":
    case "LogicalExpression": {
      const [left, right] = [node["left"] as Node, node["right"] as Node];
      const operator = String(node["operator"]);
      const opposite = OPPOSITE[operator];
      if (opposite === undefined || isText(left) || isText(right)) return [];
      const between = textOf({ ...node, start: left.end, end: right.start });
      const at = left.end + between.indexOf(operator);
      return [{ start: at, end: at + operator.length, becomes: opposite }];
    }
    case "UnaryExpression":
      return node["operator"] === "!" ? [{ start, end, becomes: textOf(node["argument"] as Node) }] : [];
    case "IfStatement":
    case "ConditionalExpression": {
      const test = node["test"] as Node;
      return ["true", "false"].map((becomes) => ({ start: test.start, end: test.end, becomes }));
    }
    case "Literal":
      if (typeof node["value"] === "boolean") return [{ start, end, becomes: String(!node["value"]) }];
      if (typeof node["value"] === "number") return [{ start, end, becomes: String(node["value"] + 1) }];
      return [];
    case "MemberExpression": {
      const property = node["property"] as Node;
      const name = String(property["name"]);
      // Not what every object inherits, such as toString.
      const other = Object.hasOwn(METHODS, name) ? METHODS[name] : undefined;
      return other === undefined ? [] : [{ start: property.start, end: property.end, becomes: other }];
    }
    case "ExpressionStatement":
      return node["directive"] === undefined || node["directive"] === null ? [{ start, end, becomes: ";" }] : [];
    case "ThrowStatement":
      return [{ start, end, becomes: ";" }];
    default:
      return [];
  }
}

function isText(node: Node): boolean {
  return (
    node.type === "TemplateLiteral" ||
    (node.type === "Literal" && typeof node["value"] === "string" && node["value"].length > 24)
  );
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && typeof (value as Node).type === "string";
}

function short(text: string): string {
  const line = text.replaceAll(/\s+/g, " ");
  return line.length > 60 ? `${line.slice(0, 57)}...` : line;
}
