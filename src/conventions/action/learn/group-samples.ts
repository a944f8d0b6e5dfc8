import type { Sample } from "./read-samples.ts";

/** Requests that are one action: same method, same shape of path, same kind of body. Null in `shape` is a parameter. */
export interface SampleGroup {
  readonly method: string;
  readonly shape: readonly (string | null)[];
  readonly samples: readonly Sample[];
}

export function groupSamples(samples: readonly Sample[]): readonly SampleGroup[] {
  const groups = Map.groupBy(samples, ({ method, segments, body, trailingSlash }) =>
    JSON.stringify([method, shapeOf(segments), trailingSlash, body.kind, body.kind === "graphql" ? body.key : ""]),
  );
  return [...groups.values()].map((members) => {
    const [{ method, segments }] = members as [Sample];
    return { method, shape: shapeOf(segments), samples: members };
  });
}

/** Two words at one place may be two things of an API: only what looks like a value is taken for one. */
function shapeOf(segments: readonly string[]): SampleGroup["shape"] {
  return segments.map((segment) => (isIdentifier(segment) ? null : segment));
}

/** What people do not call a part of an API: numbers, hashes, addresses, names with digits or dots in them. */
function isIdentifier(segment: string): boolean {
  if (/^v\d{1,2}$/.test(segment)) return false;
  return /[0-9@:%.~]/.test(segment) || segment.length > 24 || !/^[\x21-\x7e]+$/.test(segment);
}
