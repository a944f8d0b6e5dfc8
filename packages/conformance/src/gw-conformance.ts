#!/usr/bin/env node
import { randomBytes } from "node:crypto";
import { parseArgs } from "node:util";
import { Denied } from "../../../src/kernel/failure.ts";
import { runConformance } from "./command.ts";

const USAGE = "usage: gw-conformance URL [--token-file FILE] [--profile FILE] [--only CHECK]... [--json]";

try {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      "token-file": { type: "string" },
      profile: { type: "string" },
      only: { type: "string", multiple: true },
      json: { type: "boolean", default: false },
    },
  });
  const [url, ...more] = positionals;
  if (url === undefined || more.length > 0) throw new TypeError("one URL");
  const { json, profile, only, "token-file": tokenFile } = values;
  process.exitCode = await runConformance(
    {
      ...{ url, json },
      ...(tokenFile === undefined ? {} : { tokenFile }),
      ...(profile === undefined ? {} : { profile }),
      ...(only === undefined ? {} : { only }),
    },
    { out: console.log, err: console.error },
    { bytes: randomBytes },
  );
} catch (error) {
  if (!(error instanceof Denied || error instanceof TypeError)) throw error;
  console.error(error instanceof Denied ? error.message : USAGE);
  process.exitCode = error instanceof Denied ? 1 : 2;
}
