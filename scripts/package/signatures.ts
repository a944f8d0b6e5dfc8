import { spawnSync } from "node:child_process";

/** Whether the registry signed what is installed: it says so, says otherwise, or nobody could be asked. */
type Signatures =
  | { readonly kind: "verified"; readonly words: string }
  | { readonly kind: "wrong"; readonly words: string }
  | { readonly kind: "not_checked"; readonly words: string };

const LONGEST_MS = 120_000;

/** `npm audit signatures` over the installed packages. It needs a registry that answers; whatever is configured is asked. */
function checkSignatures(root: string): Signatures {
  const done = spawnSync("npm", ["audit", "signatures", "--fetch-retries=0"], {
    cwd: root,
    encoding: "utf8",
    timeout: LONGEST_MS,
  });
  const said = `${done.stdout ?? ""}${done.stderr ?? ""}`;
  if (done.status === 0) return { kind: "verified", words: firstOf(said, /verified|audited/) };
  if (/invalid|missing/i.test(said) && /signature|attestation/i.test(said)) {
    return { kind: "wrong", words: firstOf(said, /invalid|missing/i) };
  }
  return { kind: "not_checked", words: firstOf(said, /npm error code|npm error|network/) };
}

function firstOf(said: string, line: RegExp): string {
  return (
    said
      .split("\n")
      .find((one) => line.test(one))
      ?.trim() ?? "npm gave no answer"
  );
}

/** Throws where a signature is wrong, or where one is `required` and nobody could be asked. */
export function requireSignatures(root: string, how: string, say: (line: string) => void): void {
  if (how !== "wanted" && how !== "required") throw new Error("--signatures is wanted or required");
  const { kind, words } = checkSignatures(root);
  if (kind === "wrong") throw new Error(`what is installed is not what the registry signed: ${words}`);
  if (kind === "verified") say(`signatures: verified (${words})`);
  else say(`signatures: NOT CHECKED, no registry answered (${words}). Before a release: npm audit signatures`);
  if (kind === "not_checked" && how === "required")
    throw new Error("the signatures could not be checked, and nothing was made");
}
