/**
 * One rule of the program, broken in one place. `text` stands exactly once in `file`; with `becomes` in its place at least
 * one of `tests` must fail. A rule whose mutant survives is a rule that nothing holds anybody to.
 */
export interface Mutant {
  readonly rule: string;
  readonly file: string;
  readonly text: string;
  readonly becomes: string;
  readonly tests: readonly string[];
  /** The one test of them that has to fail, where each takes long; otherwise all run. */
  readonly title?: string;
}
