/** Whoever has one IPv6 address has all of its /64: they count as one. An IPv4 address counts by itself, however it is spelled. */
export function networkOf(address: string): string {
  const [spelled = ""] = address.split("%");
  const [head = "", tail] = spelled.split("::");
  const front = head === "" ? [] : head.split(":");
  const back = tail === undefined || tail === "" ? [] : tail.split(":");
  if (back.at(-1)?.includes(".") === true) return back.at(-1) ?? "";
  if (!spelled.includes(":")) return spelled;
  const gap = Math.max(0, 8 - front.length - back.length);
  const groups = [...front, ...Array.from({ length: gap }, () => "0"), ...back];
  return `${groups.slice(0, 4).join(":")}::/64`;
}
