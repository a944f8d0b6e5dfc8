import { readFileSync, statSync } from "node:fs";

/** The machine's own files; accounts that live elsewhere are not in them. */
const GROUPS = "/etc/group";
const USERS = "/etc/passwd";

/** The users whom the machine's files put into a group, as its members or as the group that each begins with. */
export function createGroupMembers(gid: number, files = { groups: GROUPS, users: USERS }): () => ReadonlySet<number> {
  let seen = "";
  let members: ReadonlySet<number> = new Set();
  return () => {
    const now = stampOf(files.groups) + stampOf(files.users);
    if (now !== seen) members = readMembers(gid, files);
    seen = now;
    return members;
  };
}

function readMembers(gid: number, files: { readonly groups: string; readonly users: string }): ReadonlySet<number> {
  const names = new Set(
    linesOf(files.groups)
      .filter(([, , id]) => id === String(gid))
      .flatMap(([, , , list = ""]) => list.split(",")),
  );
  const users = linesOf(files.users).filter(([name = "", , , first]) => names.has(name) || first === String(gid));
  return new Set(users.map(([, , uid]) => Number(uid)));
}

function linesOf(file: string): readonly (readonly string[])[] {
  try {
    return readFileSync(file, "utf8")
      .split("\n")
      .map((line) => line.split(":"));
  } catch {
    return [];
  }
}

/** Changed whenever usermod or an editor wrote the file. */
function stampOf(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false });
  return found === undefined ? "none " : `${found.ino} ${found.size} ${found.mtimeMs} ${found.ctimeMs} `;
}
