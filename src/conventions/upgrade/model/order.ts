/** Sorted, each once: the form of every list whose order carries no meaning. */
export function sortText(values: Iterable<string>): string[] {
  return [...new Set(values)].sort();
}
