#!/usr/bin/env node
import { parseArgs } from "node:util";
import { Denied } from "../../../src/kernel/failure.ts";
import { deniedByFiles } from "../../../src/kernel/file-trouble.ts";
import { runReference } from "./command.ts";
import { allScopes, startReference } from "./index.ts";

const USAGE =
  "usage: gw-reference --file FILE [--port N] [--faults] [--webhook-url URL] [--signer FILE] [--token-file FILE] [--json]";

try {
  const { values } = parseArgs({
    options: {
      file: { type: "string" },
      port: { type: "string", default: "0" },
      faults: { type: "boolean", default: false },
      "webhook-url": { type: "string" },
      signer: { type: "string" },
      "token-file": { type: "string" },
      json: { type: "boolean", default: false },
    },
  });
  const { file, faults, json, signer, "webhook-url": webhookUrl, "token-file": tokenFile } = values;
  const port = Number(values.port);
  if (file === undefined || !Number.isInteger(port) || port < 0 || port > 65_535)
    throw new TypeError("--file or --port");
  const stopped = new Promise<void>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => resolve());
  });
  process.exitCode = await runReference(
    {
      ...{ file, port, faults, json },
      ...(webhookUrl === undefined ? {} : { webhookUrl }),
      ...(signer === undefined ? {} : { signer }),
      ...(tokenFile === undefined ? {} : { tokenFile }),
    },
    { out: console.log, err: console.error },
    { start: startReference, scopes: allScopes, stopped },
  );
} catch (thrown) {
  const error = deniedByFiles(thrown) ?? thrown;
  if (!(error instanceof Denied || error instanceof TypeError)) throw error;
  console.error(error instanceof Denied ? error.message : USAGE);
  process.exitCode = error instanceof Denied ? 1 : 2;
}
