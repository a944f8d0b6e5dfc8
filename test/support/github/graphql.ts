import { readOperations, readTokens } from "../../../src/conventions/graphql/document.ts";

type Value = null | boolean | number | string | readonly Value[] | { readonly [name: string]: Value };

interface Field {
  readonly name: string;
  readonly alias: string;
  readonly selection: readonly Field[] | null;
}

/** A selection as GitHub would fill it, from the names of its fields: one repository with one of everything. */
export function answerDocument(text: string): Value {
  const [operation] = readOperations(text) ?? [];
  const reader = new Reader(readTokens(text) ?? []);
  const { fields } = reader.readDocument();
  return { data: fill(fields, operation?.name ?? "") };
}

function fill(fields: readonly Field[], within: string): Value {
  const isCheck = fields.some(({ name }) => name === "conclusion");
  const own: Readonly<Record<string, Value>> = isCheck ? { __typename: "CheckRun", state: "SUCCESS" } : {};
  return Object.fromEntries(fields.map((field) => [field.alias, own[field.name] ?? fillField(field, within)]));
}

/** What would send gh down another path: no fork, no pull request of that branch yet, nothing pinned. */
const ABSENT = new Set(["parent", "milestone", "mergedBy", "autoMergeRequest", "stateReason"]);
const EMPTY = new Set(["reactionGroups", "issueTemplates", "pullRequestTemplates", "contactLinks", "files"]);

function fillField({ name, selection }: Field, within: string): Value {
  if (ABSENT.has(name)) return null;
  if (EMPTY.has(name)) return [];
  if (selection === null) return name === "name" && within === "labels" ? "bug" : scalarOf(name);
  if (name === "pullRequests" && within === "PullRequestForBranch") return { nodes: [] };
  if (name === "__type") return Object.fromEntries(selection.map((field) => [field.alias, []]));
  // An operation's name goes down with the fields, until they are those of labels.
  const one = fill(selection, name === "labels" ? name : within);
  return name === "nodes" || name === "edges" ? [one] : one;
}

const SCALARS: Readonly<Record<string, Value>> = {
  number: 42,
  login: "octo-org",
  name: "app",
  nameWithOwner: "octo-org/app",
  state: "OPEN",
  id: "ID_1",
  viewerPermission: "ADMIN",
  hasNextPage: false,
  hasIssuesEnabled: true,
  headRefName: "feature",
  baseRefName: "main",
  mergeable: "MERGEABLE",
  mergeStateStatus: "CLEAN",
  color: "ffffff",
  conclusion: "SUCCESS",
  status: "COMPLETED",
  __typename: "Issue",
  url: "https://github.com/octo-org/app/issues/42",
  headRefOid: "6dcb09b5b57875f334f61aebed695e2e4193db5e",
  oid: "6dcb09b5b57875f334f61aebed695e2e4193db5e",
};

function scalarOf(name: string): Value {
  const known = SCALARS[name];
  if (known !== undefined) return known;
  if (/^(?:is|has|viewer|includes|requires|maintainer)[A-Z]/.test(name)) return false;
  if (name.endsWith("Allowed")) return true;
  if (/(?:Count|databaseId|additions|deletions|size)$/.test(name)) return 1;
  return /(?:At|On|date)$/.test(name) ? "2026-11-01T10:00:00Z" : "text";
}

class Reader {
  readonly #tokens: readonly string[];
  readonly #fragments = new Map<string, readonly Field[]>();
  #at = 0;

  constructor(tokens: readonly string[]) {
    this.#tokens = tokens;
  }

  /** Fragments may stand after what uses them: they are read first. */
  readDocument(): { readonly fields: readonly Field[] } {
    const operations: number[] = [];
    while (this.#at < this.#tokens.length) {
      const [kind, name = ""] = this.#tokens.slice(this.#at);
      while (this.#tokens[this.#at] !== "{") this.#skipOne();
      if (kind === "fragment") this.#fragments.set(name, this.#readSelection());
      else {
        operations.push(this.#at);
        this.#skipOne();
      }
    }
    this.#at = operations[0] ?? 0;
    return { fields: this.#readSelection() };
  }

  #readSelection(): readonly Field[] {
    const fields: Field[] = [];
    this.#at++;
    while (this.#tokens[this.#at] !== "}") {
      if (this.#tokens[this.#at] === "...") fields.push(...this.#readSpread());
      else fields.push(this.#readField());
    }
    this.#at++;
    return fields;
  }

  #readSpread(): readonly Field[] {
    const name = this.#tokens[this.#at + 1] ?? "";
    this.#at += name === "on" ? 3 : 2;
    return name === "on" ? this.#readSelection() : (this.#fragments.get(name) ?? []);
  }

  #readField(): Field {
    const first = this.#tokens[this.#at++] ?? "";
    const isAlias = this.#tokens[this.#at] === ":";
    if (isAlias) this.#at++;
    const name = isAlias ? (this.#tokens[this.#at++] ?? "") : first;
    if (this.#tokens[this.#at] === "(") this.#skipOne();
    const selection = this.#tokens[this.#at] === "{" ? this.#readSelection() : null;
    return { name, alias: first, selection };
  }

  /** One token, or everything up to what closes it. */
  #skipOne(): void {
    let depth = 0;
    do {
      const token = this.#tokens[this.#at++] ?? "";
      if ("({[".includes(token)) depth++;
      if (")}]".includes(token)) depth--;
    } while (depth > 0 && this.#at < this.#tokens.length);
  }
}
