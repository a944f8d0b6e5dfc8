/**
 * Which regular expressions a schema may use. The engine backtracks, so a pattern is admitted only when its worst
 * work on the longest allowed input is bounded: no back-references, no look-around, no varying group that repeats
 * (but one with a leading character of its own and a single varying element), a bounded product of all its choices.
 */
import { defaults } from "../../../src/kernel/defaults.ts";

/** Undefined when the pattern is admitted, else why not. `inputLength` is the longest text it will ever see. */
export function lintPattern(pattern: string, inputLength: number): string | undefined {
  if (pattern.length > defaults.schemaPatternLength) return `is longer than ${defaults.schemaPatternLength} characters`;
  try {
    new RegExp(pattern, "u");
  } catch {
    return "is not a regular expression";
  }
  if (!pattern.startsWith("^") || !pattern.endsWith("$") || pattern.endsWith("\\$")) {
    return "is not anchored: write ^…$ so that the whole text must match";
  }
  const reader = new PatternReader(pattern.slice(1, -1), inputLength);
  try {
    const group = reader.readAlternatives();
    if (!reader.done) return "has a parenthesis too many";
    if (group.size > defaults.schemaPatternSize) return "repeats too often when written out";
    if (group.alternatives > 1) return "has alternatives outside a group: anchors would cover only the outer two";
    const work = group.choices.reduce((product, choice) => product * choice, 1);
    const rest = work / Math.max(1, ...group.choices);
    const bounded = rest <= defaults.schemaPatternWork && work <= defaults.schemaPatternSteps;
    return bounded ? undefined : "can backtrack too far: repeat less, or lower maxLength";
  } catch (error) {
    if (error instanceof PatternRefusal) return error.message;
    throw error;
  }
}

class PatternRefusal extends Error {}

/** `atoms` are the sources of single-character matchers, `choices` how many ways each varying element can go. */
interface Group {
  readonly atoms: readonly string[];
  readonly choices: readonly number[];
  readonly alternatives: number;
  /** Whether alternatives stand anywhere inside: two of them may match the same text. */
  readonly forks: boolean;
  /** Atoms after writing fixed repetitions out, which is what the engine compiles. */
  readonly size: number;
  /** The literal that every repetition of this group starts with, if it starts with one. */
  readonly lead: string | undefined;
}

interface Ways {
  readonly least: number;
  readonly most: number;
  readonly copies: number;
}

const ESCAPE =
  /^\\(?:[dDwWsSnrt]|[\^$\\.*+?()[\]{}|/]|u[0-9A-Fa-f]{4}|u\{[0-9A-Fa-f]{1,6}\}|x[0-9A-Fa-f]{2}|[pP]\{[A-Za-z_=]{1,40}\})/;
const CLASS = /^\[(?:[^\\\]]|\\.)*\]/u;
const COUNT = /^\{(\d{1,5})(?:(,)(\d{1,5})?)?\}/;

class PatternReader {
  #rest: string;
  readonly #inputLength: number;

  constructor(text: string, inputLength: number) {
    this.#rest = text;
    this.#inputLength = inputLength;
  }

  get done(): boolean {
    return this.#rest === "";
  }

  readAlternatives(): Group {
    const branches = [this.#readSequence()];
    while (this.#take("|")) branches.push(this.#readSequence());
    const choices = branches.flatMap((branch) => branch.choices);
    return {
      atoms: branches.flatMap((branch) => branch.atoms),
      choices: branches.length > 1 ? [...choices, branches.length] : choices,
      alternatives: branches.length,
      forks: branches.length > 1 || branches.some((branch) => branch.forks),
      size: branches.reduce((sum, branch) => sum + branch.size, 0),
      lead: branches.length === 1 ? branches[0]?.lead : undefined,
    };
  }

  #readSequence(): Group {
    const atoms: string[] = [];
    const choices: number[] = [];
    let lead: string | undefined;
    let size = 0;
    let forks = false;
    for (let first = true; this.#rest !== "" && !/^[|)]/.test(this.#rest); first = false) {
      const group = this.#readElement();
      const ways = this.#readQuantifier();
      if (ways.most > 1 && !repeatsSafely(group)) {
        throw new PatternRefusal(
          "repeats a group that itself varies: give each repetition a leading character of its own",
        );
      }
      size += group.size * ways.copies;
      forks ||= group.forks;
      atoms.push(...group.atoms);
      choices.push(...group.choices);
      if (ways.most > ways.least) choices.push(ways.most - ways.least + 1);
      if (first && ways.least === 1 && ways.most === 1) lead = group.lead;
    }
    return { atoms, choices, alternatives: 1, forks, size, lead };
  }

  #readElement(): Group {
    if (this.#take("(")) {
      if (this.#rest.startsWith("?") && !this.#take("?:"))
        throw new PatternRefusal("uses a group other than (…) or (?:…)");
      const group = this.readAlternatives();
      if (!this.#take(")")) throw new PatternRefusal("has an open parenthesis");
      return group;
    }
    const atom = this.#readAtom();
    const isLiteral = !atom.startsWith("[") && atom !== "." && !/^\\[dDwWsSpP]/.test(atom);
    return { atoms: [atom], choices: [], alternatives: 1, forks: false, size: 1, lead: isLiteral ? atom : undefined };
  }

  #readAtom(): string {
    const token = ESCAPE.exec(this.#rest)?.[0] ?? CLASS.exec(this.#rest)?.[0];
    if (token !== undefined) {
      this.#rest = this.#rest.slice(token.length);
      return token;
    }
    const character = String.fromCodePoint(this.#rest.codePointAt(0) ?? 0);
    if ("\\[^$".includes(character))
      throw new PatternRefusal(`uses ${this.#rest.slice(0, 2)}, which is not admitted here`);
    this.#rest = this.#rest.slice(character.length);
    return character;
  }

  #readQuantifier(): Ways {
    const ways = this.#readCount();
    // Lazy matching changes the order of the search only, never what matches.
    this.#take("?");
    return ways;
  }

  #readCount(): Ways {
    const unbounded = Math.max(2, this.#inputLength);
    if (this.#take("*")) return { least: 0, most: unbounded, copies: 1 };
    if (this.#take("+")) return { least: 1, most: unbounded, copies: 1 };
    if (this.#take("?")) return { least: 0, most: 1, copies: 1 };
    const count = COUNT.exec(this.#rest);
    if (count === null) return { least: 1, most: 1, copies: 1 };
    this.#rest = this.#rest.slice(count[0].length);
    const least = Number(count[1]);
    if (count[2] === undefined) return { least, most: least, copies: least };
    if (count[3] === undefined) return { least, most: Math.max(least, unbounded), copies: least + 1 };
    return { least, most: Number(count[3]), copies: Number(count[3]) };
  }

  #take(text: string): boolean {
    if (!this.#rest.startsWith(text)) return false;
    this.#rest = this.#rest.slice(text.length);
    return true;
  }
}

/**
 * A fixed group repeats in one way. A varying one does so when its lead cannot occur later in the same repetition,
 * which fixes where each repetition ends, and one element alone varies, which fixes how it is filled.
 */
function repeatsSafely(group: Group): boolean {
  if (group.choices.length === 0) return true;
  if (group.lead === undefined || group.forks || group.choices.length > 1) return false;
  const lead = new RegExp(`^${group.lead}$`, "u");
  return !group.atoms.slice(1).some((atom) => overlaps(atom, group.lead ?? "", lead));
}

/** Whether `atom` matches the one character that `lead` stands for. */
function overlaps(atom: string, leadSource: string, lead: RegExp): boolean {
  const character =
    leadSource.length === 2 && /[^nrt\w]/.test(leadSource.charAt(1)) ? leadSource.charAt(1) : leadSource;
  // An escape such as \u002d is not decoded here: it counts as overlapping, which only refuses more.
  return !lead.test(character) || new RegExp(`^(?:${atom})$`, "u").test(character);
}
