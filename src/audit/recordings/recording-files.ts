import { closeSync, fsyncSync, linkSync, mkdirSync, openSync, unlinkSync, writeSync } from "node:fs";
import { join } from "node:path";
import { Denied } from "../../kernel/failure.ts";
import { openReadFile } from "../node-files.ts";

const FOLDER = "recordings";
const ATTEMPT = /^[a-z]{2,8}_[A-Za-z0-9]{1,60}$/;

/** Writes a sealed recording beside the log so that it survives a power cut. A name is used once. */
export function writeRecordingFile(logFolder: string, attemptId: string, sealed: Buffer): void {
  const folder = join(logFolder, FOLDER);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, fileName(attemptId));
  const fd = openSync(`${path}.new`, "wx", 0o600);
  try {
    for (let done = 0; done < sealed.length; ) done += writeSync(fd, sealed, done);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  // A link, not a rename: a recording that is there is never replaced.
  linkSync(`${path}.new`, path);
  unlinkSync(`${path}.new`);
  const folderFd = openSync(folder, "r");
  try {
    fsyncSync(folderFd);
  } finally {
    closeSync(folderFd);
  }
}

/** Undefined when there is no recording of this attempt. */
export function readRecordingFile(logFolder: string, attemptId: string, bytesMax: number): Buffer | undefined {
  const path = join(logFolder, FOLDER, fileName(attemptId));
  let file: ReturnType<typeof openReadFile>;
  try {
    file = openReadFile(path);
  } catch {
    return undefined;
  }
  try {
    if (file.size() > bytesMax) throw new Denied("log_damaged", `${path} is larger than any recording.`);
    const bytes = Buffer.alloc(file.size());
    return bytes.subarray(0, file.read(bytes, 0));
  } finally {
    file.close();
  }
}

function fileName(attemptId: string): string {
  if (!ATTEMPT.test(attemptId)) throw new Denied("not_found", "That is not the identifier of an attempt.");
  return `${attemptId}.gwrec`;
}
