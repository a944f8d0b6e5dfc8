/** How well what a tool would take fits what an action asks for: by its very name, by a wildcard, or not at all. */
export type AcceptFit = "named" | "any" | "no";

/** `same` are names that mean to this provider what application/json means. */
export function acceptFit(field: string | null, asked: string | null, same: readonly string[]): AcceptFit {
  const wanted = asked ?? "application/json";
  const named = namesOf(field);
  if (named.includes(wanted) || (asked === null && named.some((range) => same.includes(range)))) return "named";
  const [kind = ""] = wanted.split("/");
  const any = named.length === 0 || wanted === "*/*" || named.includes("*/*") || named.includes(`${kind}/*`);
  return any ? "any" : "no";
}

/** What is named first is meant first. Who names nothing means the ordinary answer, and not one with a name of its own. */
export function rankAccept(fit: AcceptFit, field: string | null, asked: string | null): number {
  if (fit !== "named") return asked === null ? 1 : 0;
  const at = namesOf(field).indexOf(asked ?? "application/json");
  return at < 0 ? 2 : 2 + 1 / (at + 1);
}

function namesOf(field: string | null): readonly string[] {
  const ranges = (field ?? "").split(",").map((range) => (range.split(";")[0] ?? "").trim().toLowerCase());
  return ranges.filter((range) => range !== "");
}
