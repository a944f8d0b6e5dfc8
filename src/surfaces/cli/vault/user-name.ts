import { userInfo } from "node:os";

/** What an operator is called who gave no name: as the operating system calls the person. */
export function nameOfUser(): string {
  try {
    const name = userInfo().username.toLowerCase();
    return /^[a-z0-9][a-z0-9._-]{0,31}$/.test(name) ? name : "operator";
  } catch {
    // A container may run as a number that has no name.
    return "operator";
  }
}
