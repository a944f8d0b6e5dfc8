/** How well what a tool would take fits what an action asks for: by its very name, by a wildcard, or not at all. */
export type AcceptFit = "named" | "any" | "no";

/** `same` are names that mean to this provider what application/json means. */
export function acceptFit(field: string | null, asked: string | null, same: readonly string[]): AcceptFit {
  const wanted = asked ?? "application/json";
  const ranges = (field ?? "").split(",").map((range) => (range.split(";")[0] ?? "").trim().toLowerCase());
  const named = ranges.filter((range) => range !== "");
  if (named.includes(wanted) || (asked === null && named.some((range) => same.includes(range)))) return "named";
  const [kind = ""] = wanted.split("/");
  const any = named.length === 0 || wanted === "*/*" || named.includes("*/*") || named.includes(`${kind}/*`);
  return any ? "any" : "no";
}

/** Who names nothing means the ordinary answer, and not one that has a name of its own. */
export function rankAccept(fit: AcceptFit, asked: string | null): number {
  return fit === "named" ? 2 : asked === null ? 1 : 0;
}
