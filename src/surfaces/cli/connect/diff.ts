const CONTEXT = 3;

/** What changes between two texts that differ in one place, as lines that a person reads before it is written. */
export function diffLines(before: string, after: string): readonly string[] {
  if (before === after) return [];
  const old = split(before);
  const fresh = split(after);
  let top = 0;
  while (top < old.length && top < fresh.length && old[top] === fresh[top]) top++;
  let tail = 0;
  while (tail < old.length - top && tail < fresh.length - top && old.at(-1 - tail) === fresh.at(-1 - tail)) tail++;
  const lead = old.slice(Math.max(0, top - CONTEXT), top);
  const trail = old.slice(old.length - tail, old.length - tail + CONTEXT);
  return [
    `@@ line ${top + 1} @@`,
    ...lead.map((line) => `  ${line}`),
    ...old.slice(top, old.length - tail).map((line) => `- ${line}`),
    ...fresh.slice(top, fresh.length - tail).map((line) => `+ ${line}`),
    ...trail.map((line) => `  ${line}`),
  ];
}

function split(text: string): readonly string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}
