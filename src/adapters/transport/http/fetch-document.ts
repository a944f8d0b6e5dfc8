import { get as getPlain } from "node:http";
import { get } from "node:https";
import { defaults } from "../../../kernel/defaults.ts";
import { Denied } from "../../../kernel/failure.ts";

/**
 * One public document, fetched by an operator's own command and never by the gateway: no credential goes along, no redirect
 * is followed. Undefined where there is none.
 */
export function fetchDocument(url: string, ca: string | null): Promise<Buffer | undefined> {
  const options = {
    headers: { accept: "application/json" },
    agent: false,
    signal: AbortSignal.timeout(defaults.documentMs),
    ...(ca === null ? {} : { ca }),
  } as const;
  return new Promise((resolve, reject) => {
    const fail = (why: string): void => reject(new Denied("token_unavailable", `${url} cannot be read: ${why}.`));
    const asked = (url.startsWith("https:") ? get : getPlain)(url, options, (response) => {
      const { statusCode = 0 } = response;
      if (statusCode === 404) {
        response.destroy();
        resolve(undefined);
        return;
      }
      if (statusCode !== 200) {
        response.destroy();
        fail(`it answered ${statusCode}`);
        return;
      }
      const parts: Buffer[] = [];
      let size = 0;
      response.on("data", (part: Buffer) => {
        size += part.length;
        if (size <= defaults.documentBytes) parts.push(part);
        else response.destroy(new Error("too large"));
      });
      response.on("error", () => fail("it is too large, or was cut off"));
      response.on("end", () => resolve(Buffer.concat(parts)));
    });
    asked.on("error", (error: NodeJS.ErrnoException) => fail(error.code ?? error.name));
  });
}
