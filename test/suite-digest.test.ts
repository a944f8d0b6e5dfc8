import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { closeSync, ftruncateSync, openSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { GW, makeFolder } from "./support/home.ts";

const LARGE_BYTES = 64 * 1024 * 1024;
const skip = process.env["GW_PROGRAM"] === undefined && "there is no such product but in a run of the suite";

test("the product that tests start digests a large image that changed anew", { skip }, async () => {
  const image = join(dirname(dirname(GW)), "dist", "src", "adapters", "platform", "linux", "image", "digest.js");
  const { digestImage } = await import(pathToFileURL(image).href);
  const fd = openSync(join(makeFolder(), "image"), "w+");
  const digestsOf = (first: string): unknown => {
    writeSync(fd, first, 0);
    const expected = createHash("sha256")
      .update(first)
      .update(Buffer.alloc(LARGE_BYTES - first.length))
      .digest("hex");
    const digests = { sha256: `sha256:${expected}`, md5: null, bytes: LARGE_BYTES };
    assert.deepEqual(digestImage(fd, false), digests);
    return digestImage(fd, false);
  };
  try {
    ftruncateSync(fd, LARGE_BYTES);
    assert.notDeepEqual(digestsOf("a"), digestsOf("b"));
  } finally {
    closeSync(fd);
  }
});
