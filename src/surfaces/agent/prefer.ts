import { defaults } from "../../kernel/defaults.ts";

/** `Prefer: wait=N` of RFC 7240 in seconds. Anything else in the field is ignored, as the RFC asks; no wait is zero. */
export function readPreferredWaitMs(header: string | undefined): number {
  // Whoever asks again and again is ready to wait as long as the last time.
  if (last.header !== header) last = { header, ms: readWaitMs(header) };
  return last.ms;
}

let last: { readonly header: string | undefined; readonly ms: number } = { header: undefined, ms: 0 };

function readWaitMs(header: string | undefined): number {
  if (header === undefined || header.length > 200) return 0;
  for (const preference of header.split(",")) {
    const [name = "", value = ""] = preference.split(";")[0]?.split("=") ?? [];
    if (name.trim().toLowerCase() !== "wait") continue;
    const seconds = value.trim();
    if (seconds.length === 0 || seconds.length > 6 || [...seconds].some((digit) => digit < "0" || digit > "9"))
      return 0;
    return Math.min(Number(seconds) * 1000, defaults.preferWaitMs);
  }
  return 0;
}
