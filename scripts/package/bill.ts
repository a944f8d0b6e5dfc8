import { createHash } from "node:crypto";
import type { Dependency } from "./dependencies.ts";

/** The bill of materials, CycloneDX 1.6: what is inside, in which version, under which licence, from which bytes. */
export function billOfMaterials(
  version: string,
  epochS: number,
  dependencies: readonly Dependency[],
  nodeSha256: string,
): string {
  const components = dependencies.map(({ name, version: its, license, integrity }) => ({
    type: name === "node" ? "platform" : "library",
    "bom-ref": purlOf(name, its),
    name,
    version: its,
    ...(license === "" ? {} : { licenses: [{ expression: license }] }),
    purl: purlOf(name, its),
    hashes: hashesOf(integrity),
    ...(name === "node" ? { properties: [{ name: "gw:bin/node:sha256", value: nodeSha256 }] } : {}),
  }));
  const body = {
    metadata: {
      timestamp: new Date(epochS * 1000).toISOString(),
      component: {
        type: "application",
        "bom-ref": "gw",
        name: "gw",
        version,
        licenses: [{ expression: "Apache-2.0" }],
      },
    },
    components,
    dependencies: [{ ref: "gw", dependsOn: components.map((component) => component["bom-ref"]) }],
  };
  const digest = createHash("sha256").update(JSON.stringify(body)).digest("hex");
  const head = { bomFormat: "CycloneDX", specVersion: "1.6", serialNumber: `urn:uuid:${uuidOf(digest)}`, version: 1 };
  return `${JSON.stringify({ ...head, ...body }, null, 2)}\n`;
}

function purlOf(name: string, version: string): string {
  return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}

function hashesOf(integrity: string): readonly { readonly alg: string; readonly content: string }[] {
  const [algorithm, digest = ""] = integrity.split("-", 2);
  return algorithm === "sha512" ? [{ alg: "SHA-512", content: Buffer.from(digest, "base64").toString("hex") }] : [];
}

/** A number of version 8: its bits are ours, so that the same content has the same number. */
function uuidOf(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
