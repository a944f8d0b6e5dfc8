import type { Code } from "../../kernel/codes.ts";
import { defaults } from "../../kernel/defaults.ts";
import type { PackFinding } from "./pack.ts";

export interface Position {
  readonly line: number;
  readonly column: number;
}

/** Where each member's key and value stand in the file, by JSON Pointer. */
export interface Places {
  readonly keys: ReadonlyMap<string, Position>;
  readonly values: ReadonlyMap<string, Position>;
}

/** Errors that keep a pack from being added and trusted, and let one that was trusted before work on for typed calls. */
const KEEPS_WORKING: ReadonlySet<Code> = new Set(["pack_actions_overlap"]);

/** Gathers all that is wrong with one file, up to a bound, each remark with its line and column. */
export class Findings {
  readonly list: PackFinding[] = [];
  readonly #file: string;
  #places: Places = { keys: new Map(), values: new Map() };

  constructor(file: string) {
    this.#file = file;
  }

  set places(places: Places) {
    this.#places = places;
  }

  /** Whether it cannot be used at all. */
  get failed(): boolean {
    return this.list.some(({ severity, code }) => severity === "error" && !KEEPS_WORKING.has(code));
  }

  get full(): boolean {
    return this.list.length >= defaults.packFindings;
  }

  error(code: Code, path: string, message: string): void {
    this.#add("error", code, path, message, this.#locate(path));
  }

  warn(code: Code, path: string, message: string): void {
    this.#add("warning", code, path, message, this.#locate(path));
  }

  errorAt(code: Code, position: Position, path: string, message: string): void {
    this.#add("error", code, path, message, position);
  }

  /** Whether an error was found at a pointer, below it, or above it, where it may have hidden what is below. */
  failedAround(path: string): boolean {
    return this.list.some(
      (finding) =>
        finding.severity === "error" &&
        (finding.path === path || finding.path.startsWith(`${path}/`) || path.startsWith(`${finding.path}/`)),
    );
  }

  #add(severity: PackFinding["severity"], code: Code, path: string, message: string, at: Position): void {
    // An error found late must not be lost behind warnings: only warnings stop counting early.
    if (this.full && (severity === "warning" || this.failed)) return;
    this.list.push({ severity, code, file: this.#file, line: at.line, column: at.column, path, message });
  }

  /** A missing or cut-off member has no place of its own; its nearest ancestor has. */
  #locate(path: string): Position {
    for (let at = path; at !== ""; at = at.slice(0, at.lastIndexOf("/"))) {
      const position = this.#places.keys.get(at) ?? this.#places.values.get(at);
      if (position !== undefined) return position;
    }
    return this.#places.values.get("") ?? { line: 1, column: 1 };
  }
}
