/** Why a receiver refuses: the words of its `refused` frame. docs/ssh.md lists them, and a test keeps the two equal. */
export const refusals = {
  command_not_allowed: "The client asked for a command or subsystem of its own.",
  terminal_not_allowed: "The server gave the session a terminal: the key line lacks `restrict`.",
  forwarding_not_allowed: "The server forwarded an agent or a display: the key line lacks `restrict`.",
  environment_not_allowed: "The server took a variable from the client: AcceptEnv is too wide.",
  manifest_invalid: "The manifest is absent, not owned by root, writable by others, or not well formed.",
  state_unavailable: "The folder for events cannot be written durably, or others could put another in its place.",
  request_too_large: "The request is larger than the receiver reads.",
  request_late: "No whole request came in time.",
  request_malformed: "The request is not one strict JSON object of plain values.",
  request_id_invalid: "The request identifier is missing or not of the right shape.",
  request_repeated: "The request identifier was seen before.",
  nonce_mismatch: "The request was made for another connection.",
  signature_missing: "The manifest pins the gateway's key and the request carries no signature.",
  signature_invalid: "The signature is not the pinned gateway's over this request.",
  action_unknown: "The manifest has no such operation.",
  field_missing: "A field of the operation is absent.",
  field_unknown: "A field is not part of the operation.",
  field_not_allowed: "A value is outside what the manifest allows for its field.",
  executable_invalid: "The operation's executable is absent, not owned by root or writable by others.",
} as const;

export type RefusalCode = keyof typeof refusals;

/** Node 18 has Object.hasOwn; a plain lookup would find `constructor`. */
export function isRefusalCode(text: string): text is RefusalCode {
  return Object.hasOwn(refusals, text);
}
