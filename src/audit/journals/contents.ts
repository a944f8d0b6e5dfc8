import type { EventOf } from "../event.ts";

/** Contents of the log put together from their parts as they are read. What a part is missing of stays out. */
export interface Contents {
  add(event: EventOf<"content_kept">): void;
  /** The text as it was kept, whatever its digest; null where it is not whole. */
  find(digest: string): string | null;
}

export function gatherContents(wanted: (digest: string) => boolean = () => true): Contents {
  const found = new Map<string, string[]>();
  const whole = new Map<string, string>();
  return {
    add({ digest, part, parts, text }) {
      if (whole.has(digest) || !wanted(digest)) return;
      const before = part === 0 ? [] : (found.get(digest) ?? []);
      // Parts follow each other; one that does not begins nothing.
      if (before.length !== part) return;
      before.push(text);
      if (before.length < parts) {
        found.set(digest, before);
        return;
      }
      found.delete(digest);
      whole.set(digest, before.join(""));
    },
    find: (digest) => whole.get(digest) ?? null,
  };
}
