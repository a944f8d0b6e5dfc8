import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A package of the registry: what its package.json says, and the file that `npm pack` makes. */
export interface Published {
  readonly manifest: string;
  readonly tarball: string;
}

export interface NpmRegistry {
  readonly url: string;
  /** What npm is told so that it asks this one itself, where the user's way out is a proxy. */
  readonly direct: string;
  close(): void;
}

/** A registry that has these packages alone. Given a file, npm would unpack all of it twice to read its manifest. */
export async function serveNpmRegistry(published: readonly Published[]): Promise<NpmRegistry> {
  const packages = new Map(
    published.map(({ manifest, tarball }) => {
      const about = JSON.parse(readFileSync(manifest, "utf8")) as { readonly name: string; readonly version: string };
      const bytes = readFileSync(tarball);
      const integrity = `sha512-${createHash("sha512").update(bytes).digest("base64")}`;
      return [about.name, { about, bytes, integrity }] as const;
    }),
  );
  const server = createServer(({ url = "", headers }, response) => {
    const [, name = "", wantsFile] = /^\/(.*?)(\.tgz)?$/.exec(decodeURIComponent(url)) ?? [];
    const found = packages.get(name);
    // What it gives is nothing for the user's own cache.
    response.setHeader("cache-control", "no-store");
    if (found === undefined) return void response.writeHead(404).end();
    if (wantsFile !== undefined) return void response.end(found.bytes);
    const { about, integrity } = found;
    const dist = { tarball: `http://${headers.host}/${encodeURIComponent(name)}.tgz`, integrity };
    const versions = { [about.version]: { ...about, dist } };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ name, "dist-tags": { latest: about.version }, versions }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { NO_PROXY, no_proxy = NO_PROXY } = process.env;
  return {
    direct: `--noproxy=${no_proxy === undefined ? "" : `${no_proxy},`}127.0.0.1`,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close: () => void server.close().closeAllConnections(),
  };
}
