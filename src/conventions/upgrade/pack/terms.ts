import type { JsonValue } from "../../../kernel/json.ts";
import type { HttpAction, InputField, Provider, SshAction, UrlAction } from "../../action/pack.ts";
import type { Surface } from "../compare/difference.ts";

/**
 * Every term of a pack, and what a change of it asks for before the pack is trusted again. The tables are mapped types:
 * a new member of a definition does not compile until somebody has said here what its change means.
 */
export type Demand =
  /** Another version of the provider: two documents, or a probe of every action at the new one. */
  | "upgrade"
  /** Other requests: a document that has the operation, a probe of it, or a signature that there is neither. */
  | "evidence"
  /** A signed decision. */
  | "decision"
  /** Words for people, or computed from other terms. */
  | "nothing";

export interface Term {
  readonly demand: Demand;
  readonly surface: Surface;
  readonly says: string;
}

type Row = readonly [demand: Demand, surface: Surface, says: string];
type Rows<Names extends string> = { readonly [Name in Names]: Row };

const reach = "action_reach";
const sees = "resource_reach";
const trust = "credential_acceptance";
const fits = "request_compatibility";
const computed: Row = ["nothing", fits, ""];

const provider: Rows<keyof Provider> = {
  origin: ["upgrade", trust, "where requests and the credential go"],
  credential: ["evidence", trust, "which credential is presented"],
  auth: ["evidence", trust, "how the credential is presented"],
  version: ["upgrade", trust, "which version of the provider is selected"],
  idempotency: ["decision", reach, "how a repeat is told from a second request"],
  correlationHeader: ["decision", fits, "which header names the call to the provider"],
  redirects: ["decision", trust, "where an answer may lead a request"],
  network: ["decision", trust, "which networks are reached"],
  ca: ["decision", trust, "who vouches for the provider's name"],
  limits: ["decision", fits, "how long and how much is waited for"],
  success: ["decision", reach, "which answer counts as done"],
  callbacks: ["decision", reach, "which word of the provider is taken"],
  accepts: ["decision", fits, "what tools may ask for instead of JSON"],
  tolerates: ["decision", fits, "which header fields of tools are left out"],
  tokenVariables: ["decision", fits, "where tools in a box find a placeholder"],
};

const action: Rows<keyof HttpAction | keyof UrlAction | keyof SshAction> = {
  kind: ["evidence", reach, "the channel"],
  name: computed,
  qualifiedName: computed,
  description: ["decision", reach, "what agents read about it"],
  effect: ["evidence", reach, "what it is said to do"],
  retry: ["decision", reach, "whether it may be sent again"],
  needs: ["decision", reach, "what must stand before it is sent"],
  previewless: ["decision", reach, "whether it can be previewed"],
  inputs: computed,
  schema: computed,
  checkArguments: computed,
  plan: ["evidence", reach, "where the plan goes"],
  confirm: ["decision", reach, "the read that shows its effect"],
  maxCostCents: ["decision", reach, "what one call may cost"],
  actualCost: ["decision", reach, "where the answer says what it cost"],
  asksEachCall: ["decision", reach, "whether a person is asked each time"],
  job: ["decision", reach, "how its work is followed"],
  unknown: ["decision", reach, "what happens when no answer is seen"],
  rollback: ["decision", reach, "what it undoes"],
  pages: ["decision", sees, "how far a list is read"],
  echo: ["decision", trust, "what happens when an answer holds the credential"],
  mints: ["decision", trust, "which parts of an answer are secrets"],
  token: ["decision", trust, "what its token is good for"],
  limits: ["decision", fits, "how long and how much is waited for"],
  method: ["evidence", reach, "the method"],
  template: ["evidence", reach, "the path"],
  body: ["evidence", reach, "the form of the body"],
  mediaType: ["evidence", reach, "the media type of the body"],
  gzip: ["decision", fits, "whether a compressed body is taken"],
  emptyBody: ["decision", fits, "whether an empty body is sent"],
  accept: ["decision", fits, "what it asks for in Accept"],
  tolerates: ["decision", fits, "which query members of tools are left out"],
  streams: ["decision", fits, "whether its answer is passed on as it comes"],
  allow: ["decision", trust, "which URLs it takes"],
  credential: ["decision", trust, "which credential is presented"],
  host: ["decision", trust, "the host"],
  port: ["decision", trust, "the port"],
  user: ["decision", trust, "the account on the host"],
  hostKey: ["decision", trust, "the key by which the host is known"],
  action: ["decision", reach, "the operation on the host"],
  recording: ["decision", reach, "whether the session is recorded"],
};

const input: Rows<keyof InputField> = {
  name: computed,
  place: ["evidence", reach, "where it goes"],
  wireName: ["evidence", reach, "its name on the wire"],
  optional: ["decision", fits, "whether it may be left out"],
  constant: ["evidence", reach, "the value that the gateway fills in"],
  percent: ["decision", reach, "how it is encoded"],
  list: ["decision", fits, "how a list is written"],
  opaque: ["decision", reach, "whether its content is shown"],
  sensitive: ["decision", reach, "whether its value is kept on record"],
  part: ["evidence", reach, "which part of an upload it is"],
  filename: ["decision", fits, "the file name it goes by"],
  mediaType: ["decision", fits, "its media type"],
  language: ["decision", fits, "whether it is read as a document"],
  schema: ["decision", reach, "which values it takes"],
};

export const terms = { provider, action, input } as const;

export function termOf(rows: Readonly<Record<string, Row>>, name: string): Term {
  // A name that no table has comes from a definition this program does not know: it asks for the most.
  const [demand, surface, says] = rows[name] ?? ["upgrade", reach, name];
  return { demand, surface, says };
}

/** A term as JSON: a path by its text, and no functions. */
export function plainOf(value: unknown): JsonValue {
  if (value === undefined || typeof value === "function") return null;
  if (typeof value === "object" && value !== null && "segments" in value && "text" in value) return String(value.text);
  const text = JSON.stringify(value);
  return text === undefined ? null : (JSON.parse(text) as JsonValue);
}
