/**
 * Runs it after the loop has looked at every socket once more: at the end of this turn it may not have done so, at the end of the next
 * it has. All that wait share what it costs.
 */
export function nextTurn(run: () => void): void {
  if (begun.push(run) === 1 && looked.length === 0) setImmediate(endTurn);
}

/** Those that wait since this turn, and since the one before. */
let begun: (() => void)[] = [];
let looked: (() => void)[] = [];

function endTurn(): void {
  const due = looked;
  [looked, begun] = [begun, []];
  if (looked.length > 0) setImmediate(endTurn);
  for (const run of due) run();
}
