import { closeSync, openSync, readSync, statSync } from "node:fs";
import { basename } from "node:path";
import { isInterpreterName } from "../../../conventions/caller/interpreter-name.ts";
import type { GrantCaller } from "../../../conventions/grant/grant.ts";
import { showIdentifier } from "../../../kernel/display.ts";
import { Denied } from "../../../kernel/failure.ts";
import { digestProgram, findProgram } from "../caller/enroll.ts";

/** `authority:NAME`, `image:FILE` or `command:FILE` (or `sha256:HEX`), `uid:NUMBER`; several have to hold at once. */
export async function readGrantCaller(words: readonly string[], home: string): Promise<GrantCaller> {
  let caller: GrantCaller = { authority: null, image: null, command: null, uid: null };
  let interpreter: string | null = null;
  const image = async (value: string): Promise<string> => {
    if (/^sha256:[0-9a-f]{64}$/.test(value)) return value;
    const path = findProgram(value);
    if (isInterpreterName(basename(path))) interpreter = path;
    return await digestImage(path);
  };
  for (const word of words) {
    const at = word.indexOf(":");
    const [kind, value] = [word.slice(0, at), word.slice(at + 1)];
    if (value === "") throw unclear(word);
    if (kind === "authority" && caller.authority === null) caller = { ...caller, authority: value };
    else if (kind === "image" && caller.image === null) caller = { ...caller, image: await image(value) };
    else if (kind === "command" && caller.command === null) caller = { ...caller, command: await image(value) };
    else if (kind === "uid" && caller.uid === null) caller = { ...caller, uid: readUid(value, home) };
    else throw unclear(word);
  }
  if (interpreter !== null && caller.uid === null) {
    throw refused(
      `${showIdentifier(interpreter)} runs any script, and every script of it would be covered. Give the agent a user of its own, and add --caller uid:NUMBER`,
    );
  }
  return caller;
}

async function digestImage(path: string): Promise<string> {
  if (isScript(path)) {
    throw refused(
      `${showIdentifier(path)} is a script: what the system runs is its interpreter, and every script of that would be covered. Name the interpreter, together with uid:NUMBER`,
    );
  }
  return await digestProgram(path);
}

function isScript(path: string): boolean {
  const fd = openSync(path, "r");
  try {
    const head = Buffer.alloc(2);
    return readSync(fd, head, 0, 2, 0) === 2 && head.toString("latin1") === "#!";
  } finally {
    closeSync(fd);
  }
}

/** A user whose programs are also a person's, or the gateway's, tells nobody apart. */
function readUid(value: string, home: string): number {
  const uid = /^[1-9][0-9]{0,9}$/.test(value) ? Number(value) : 0;
  if (value === "0") throw refused("user 0 is root, who runs the programs of everybody: that is not an agent's alone");
  if (uid === 0) throw unclear(`uid:${value}`);
  if (uid === process.getuid?.()) throw refused(`user ${uid} is you: what you run yourself is not an agent's alone`);
  if (uid === statSync(home).uid) throw refused(`user ${uid} owns the gateway's home`);
  return uid;
}

function unclear(word: string): Denied {
  return refused(
    `--caller ${showIdentifier(word)} is none of authority:NAME, image:FILE, command:FILE (either also sha256:HEX) and uid:NUMBER, each once`,
  );
}

function refused(why: string): Denied {
  return new Denied("grant_invalid", `The grant was not signed: ${why}.`);
}
