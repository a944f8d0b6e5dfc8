import type { AuthorityMap, AuthorityRow } from "./authority-map.ts";

export interface RowChange {
  readonly operation: string;
  readonly kind: "added" | "removed" | "changed";
  readonly columns: readonly { readonly column: string; readonly before: string; readonly after: string }[];
}

/** What a reviewed map says and the new version does not, row by row and column by column. */
export function compareMaps(reviewed: AuthorityMap, generated: AuthorityMap): readonly RowChange[] {
  const olds = new Map(reviewed.rows.map((row) => [row.operation, row]));
  const news = new Map(generated.rows.map((row) => [row.operation, row]));
  const changes: RowChange[] = [];
  for (const operation of [...new Set([...olds.keys(), ...news.keys()])].sort()) {
    const before = olds.get(operation);
    const after = news.get(operation);
    if (before === undefined) changes.push({ operation, kind: "added", columns: [] });
    else if (after === undefined) changes.push({ operation, kind: "removed", columns: [] });
    else {
      const columns = changedColumns(before, after);
      if (columns.length > 0) changes.push({ operation, kind: "changed", columns });
    }
  }
  return changes;
}

function changedColumns(before: AuthorityRow, after: AuthorityRow): RowChange["columns"] {
  const old = cellsOf(before);
  const next = cellsOf(after);
  return Object.keys(next).flatMap((column) => {
    const left = old[column] ?? "";
    const right = next[column] ?? "";
    return left === right ? [] : [{ column, before: left, after: right }];
  });
}

function cellsOf(row: AuthorityRow): Readonly<Record<string, string>> {
  const { actions, operation: _operation, ...cells } = row;
  return { ...cells, actions: actions.join(", ") };
}
