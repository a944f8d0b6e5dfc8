import { closeSync, constants, fsyncSync, mkdirSync, openSync, readFileSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { parseStrictJson } from "../conventions/ssh/strict-json.ts";
import { isJsonObject, type JsonObject } from "../kernel/json.ts";
import { isKeptFolder } from "./trusted-file.ts";

/**
 * The host's own durable memory: one file a request identifier, its first line written and synced before anything runs.
 * The file's existence is the claim, so an identifier can be used once whatever happens in between.
 */
export interface Recorder {
  /** False when the identifier was claimed before. Returns after the first event is on disk. */
  claim(requestId: string, event: JsonObject): boolean;
  /** Adds an event to a claimed request; returns after it is on disk. */
  add(requestId: string, event: JsonObject): void;
  /** The events of a request, oldest first; undefined when it was never claimed. */
  read(requestId: string): readonly JsonObject[] | undefined;
}

const { O_APPEND, O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_RDONLY, O_WRONLY } = constants;

/** Undefined when the folder is not ours alone, cannot be written, or could be changed for another, in which requests are new again. */
export function openRecorder(state: string): Recorder | undefined {
  const folder = join(state, "requests");
  try {
    if (!isKeptFolder(state)) return undefined;
    makeOnce(folder);
    for (const each of [state, folder]) {
      const found = statSync(each);
      if (found.uid !== process.geteuid?.() || (found.mode & 0o022) !== 0) return undefined;
    }
  } catch {
    return undefined;
  }
  return {
    claim(requestId, event) {
      let fd: number;
      try {
        fd = openSync(join(folder, requestId), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
        throw error;
      }
      writeDurably(fd, event);
      syncFolder(folder);
      return true;
    },
    add(requestId, event) {
      writeDurably(openSync(join(folder, requestId), O_WRONLY | O_APPEND | O_NOFOLLOW), event);
    },
    read(requestId) {
      let text: string;
      try {
        text = readFileSync(join(folder, requestId), "utf8");
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
        throw error;
      }
      return text
        .split("\n")
        .map((line) => parseStrictJson(line))
        .filter(isJsonObject);
    },
  };
}

/** Only the inner folder is ours to make: the outer one is the administrator's decision. */
function makeOnce(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

function writeDurably(fd: number, event: JsonObject): void {
  try {
    const line = Buffer.from(`${JSON.stringify(event)}\n`, "utf8");
    for (let at = 0; at < line.length; ) at += writeSync(fd, line, at);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

function syncFolder(folder: string): void {
  const fd = openSync(folder, O_RDONLY | O_DIRECTORY);
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
