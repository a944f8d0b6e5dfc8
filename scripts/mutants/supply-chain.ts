import type { Mutant } from "./mutant.ts";

/** The supply chain's part of docs/threat-model.md: what is installed, named and made. */
export const supplyChain: readonly Mutant[] = [
  {
    rule: "attack: the package has a name that is ours",
    file: "package.json",
    text: '"name": "@agent-action-gateway/gw"',
    becomes: '"name": "gw"',
    tests: ["test/supply-chain.test.ts"],
    title: "the package has a name that is ours alone, and nothing tells people to ask a registry for gw",
  },
  {
    rule: "attack: nothing tells people to ask a registry for gw",
    file: "docs/install.md",
    text: "# Installing\n",
    becomes: ["# Installing\n\n    npx", "gw\n"].join(" "),
    tests: ["test/supply-chain.test.ts"],
    title: "the package has a name that is ours alone, and nothing tells people to ask a registry for gw",
  },
  {
    rule: "attack: a pinned Node is compared with its digest before it is started",
    file: "scripts/setup.mjs",
    text: "  checkPinnedNode();\n",
    becomes: "",
    tests: ["test/supply-chain.test.ts"],
    title: "a pinned Node that is not the released one is never started",
  },
  {
    rule: "attack: a package is made only of what the registry signed",
    file: "scripts/package/signatures.ts",
    text: '  if (kind === "wrong") throw',
    becomes: '  if (kind === "wrong" && words === "") throw',
    tests: ["test/supply-chain.test.ts"],
    title:
      "a package is made only of what the registry signed, where one answers; where none does that is said, and a release is refused",
  },
  {
    rule: "attack: a package has the time of its release, whenever it is made",
    file: "scripts/package/pack-files.ts",
    text: ["    `--mtime=@$", "{epochS}`,\n"].join(""),
    becomes: "",
    tests: ["test/package-bytes.test.ts"],
  },
  {
    rule: "attack: a package has the modes of its release, whoever checked it out",
    file: "scripts/package/pack-files.ts",
    text: '    "--mode=u=rwX,go=rX",\n',
    becomes: "",
    tests: ["test/package-bytes.test.ts"],
  },
];
