/** The words that follow `gw`, by the part of the program that adds them, in the order of the help. */
export const commandWords = {
  vault: ["init", "passphrase", "operator"],
  credential: ["credential"],
  policy: ["policy"],
  passkey: ["passkey"],
  webhook: ["webhook"],
  grant: ["grant"],
  gateway: [
    ...["up", "status", "metrics", "unlock", "lock", "login", "passphrase-prompt", "logout", "resume", "doctor"],
  ],
  pack: ["pack"],
  caller: ["caller"],
  approval: ["approvals", "approve", "deny", "revoke"],
  ticket: ["ticket"],
  watch: ["watch"],
  console: ["console"],
  call: ["actions", "call"],
  plan: ["plan", "execute"],
  operation: ["operation"],
  run: ["run"],
  mcp: ["mcp", "connect"],
  audit: ["audit", "sessions", "activity"],
  backup: ["backup", "restore"],
  hub: ["hub"],
  ssh: ["ssh"],
  upgrade: ["upgrade"],
  reference: ["reference"],
  conformance: ["conformance"],
  demo: ["demo"],
  shell: ["setup-shell"],
  install: ["install", "uninstall"],
  version: ["version"],
} as const;

const NAMED = new RegExp(`\\bgw (?:${Object.values(commandWords).flat().join("|")})(?![\\w-])`);

/** Whether it tells somebody a command to type: "gw runs as user 7" does not. */
export function namesCommand(text: string): boolean {
  return NAMED.test(text);
}
