/** RFC 6901: one more reference token. Most names need no escaping, so look before replacing. */
export function appendPointer(path: string, name: string): string {
  if (!name.includes("~") && !name.includes("/")) return `${path}/${name}`;
  return `${path}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}
