/**
 * Two dated versions. The first is sound. The second is what an upgrade review must stop: a default that widened, a new
 * route that old credentials reach, a role under another name, and a denial that became 201. It is wrong on purpose.
 */
export const versions = ["2026-04-01", "2026-10-01"] as const;

export type Version = (typeof versions)[number];

export const DEFAULT_VERSION: Version = "2026-04-01";

export function readVersion(text: string): Version | undefined {
  return versions.find((version) => version === text);
}

/** Roles as they are stored, and what each version calls them. */
export type Role = "viewer" | "editor" | "owner";

export function roleNames(version: Version): Readonly<Record<Role, string>> {
  return { viewer: "viewer", editor: version === "2026-04-01" ? "editor" : "contributor", owner: "owner" };
}

export function readRole(version: Version, name: string): Role | undefined {
  const names = roleNames(version);
  return (["viewer", "editor", "owner"] as const).find((role) => names[role] === name);
}
