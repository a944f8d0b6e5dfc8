import { digestText } from "../../../kernel/canonical-json.ts";
import { sortText } from "./order.ts";

/**
 * One digest for each name over everything that can be reached from it, in one pass over the graph. Names that reach
 * each other share a digest of the whole knot (Tarjan's strongly connected components, without recursion).
 */
export function printClosures(
  names: Iterable<string>,
  below: (name: string) => readonly string[],
  content: (name: string) => string,
): ReadonlyMap<string, string> {
  const prints = new Map<string, string>();
  const order = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const onStack = new Set<string>();

  const enter = (name: string): { readonly name: string; next: number } => {
    order.set(name, order.size);
    low.set(name, order.get(name) ?? 0);
    stack.push(name);
    onStack.add(name);
    return { name, next: 0 };
  };
  const lower = (name: string, to: number): void => {
    low.set(name, Math.min(low.get(name) ?? to, to));
  };

  for (const root of names) {
    if (order.has(root)) continue;
    const work = [enter(root)];
    for (let frame = work.at(-1); frame !== undefined; frame = work.at(-1)) {
      const child = below(frame.name)[frame.next++];
      if (child !== undefined) {
        if (!order.has(child)) work.push(enter(child));
        else if (onStack.has(child)) lower(frame.name, order.get(child) ?? 0);
        continue;
      }
      work.pop();
      const parent = work.at(-1);
      if (parent !== undefined) lower(parent.name, low.get(frame.name) ?? 0);
      if (low.get(frame.name) === order.get(frame.name)) close(stack.splice(stack.lastIndexOf(frame.name)));
    }
  }
  return prints;

  function close(knot: readonly string[]): void {
    const inside = new Set(knot);
    const own = knot.map((name) => `${JSON.stringify(name)}:${content(name)}`);
    const outside = knot.flatMap((name) =>
      below(name)
        .filter((child) => !inside.has(child))
        .map((child) => prints.get(child) ?? ""),
    );
    const print = digestText(`${sortText(own).join()} ${sortText(outside).join()}`);
    for (const name of knot) {
      onStack.delete(name);
      // Members of one knot reach the same things, but a decision about one is not one about another.
      prints.set(name, digestText(`${JSON.stringify(name)} ${print}`));
    }
  }
}
