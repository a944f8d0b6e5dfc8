/**
 * Every code that a person, an agent or a provider's client can meet, in one table.
 * `status` is the HTTP status on our planes, `means` what happened, `mend` what to do next.
 * docs/errors.md is written from here by `npm run docs`, and a test keeps the two equal.
 */
interface CodeEntry {
  readonly status: number;
  readonly means: string;
  readonly mend: string;
}

export const codes = {
  // Requests: framing and media type
  media_type_missing: {
    status: 415,
    means: "A body came without a Content-Type.",
    mend: "Send the media type that the route declares.",
  },
  media_type_unsupported: {
    status: 415,
    means: "The route does not accept this media type or one of its parameters.",
    mend: "Send the media type that the route declares; only charset=utf-8 may follow it.",
  },
  content_encoding_unsupported: {
    status: 415,
    means: "The body carries a Content-Encoding; encoded bodies are not accepted.",
    mend: "Send the body without Content-Encoding.",
  },
  framing_invalid: {
    status: 400,
    means: "The header fields that frame the request are repeated, contradictory or malformed.",
    mend: "Send one Content-Type and one way of framing.",
  },
  body_not_allowed: {
    status: 400,
    means: "The route takes no body, and one was announced or sent.",
    mend: "Send zero bytes and no Content-Type.",
  },
  body_too_large: {
    status: 413,
    means: "The body is larger than the route's limit.",
    mend: "Send less. The limit is in the message.",
  },
  // Requests: JSON
  json_malformed: {
    status: 400,
    means: "The bytes are not strict JSON.",
    mend: "The message names the byte offset; correct the text there.",
  },
  json_duplicate_member: {
    status: 400,
    means: "An object names one member twice.",
    mend: "Send each member once.",
  },
  json_too_deep: { status: 400, means: "Arrays and objects nest too deeply.", mend: "Flatten the value." },
  json_number_out_of_range: {
    status: 400,
    means: "A number cannot be held exactly.",
    mend: "Send identifiers, money and quotas as strings or as integers in the documented range.",
  },
  // Requests: schema
  schema_violation: {
    status: 422,
    means: "The value does not fit the schema of the route or action.",
    mend: "Each entry of errors[] names a path and what was expected there.",
  },
  unknown_member: { status: 422, means: "A member is not part of the schema.", mend: "Leave the member out." },
  missing_member: { status: 422, means: "A required member is absent.", mend: "Send the member." },
  wrong_type: { status: 422, means: "A value has another type than the schema says.", mend: "Send the declared type." },
  value_not_allowed: {
    status: 422,
    means: "A value is outside what the schema allows.",
    mend: "Send a value within the declared bounds.",
  },
  // Things that are not there, or not yours
  not_found: {
    status: 404,
    means: "There is no such thing for this caller.",
    mend: "Check the identifier; another caller's identifiers are never visible.",
  },
  method_not_allowed: { status: 405, means: "The path exists, with other methods.", mend: "Use a method in Allow." },
  // Budgets
  run_deadline_exhausted: {
    status: 403,
    means: "The run's time is over, or what is left is too short to start this.",
    mend: "Report what was done; a new run needs a new approval. An expired run is never revived.",
  },
  attempts_exhausted: {
    status: 403,
    means: "The run has used all its attempts. Retries, redirects and failed connections count.",
    mend: "Report what was done, or ask for a new run.",
  },
  side_effects_exhausted: {
    status: 403,
    means: "The run has used all its side-effect attempts. Reads may go on.",
    mend: "Report what was done, or ask for a new run with a larger allowance.",
  },
  spend_exhausted: {
    status: 403,
    means: "The maximum charge of this call does not fit what the run may still spend.",
    mend: "Ask for a new run whose budget covers the maximum charge.",
  },
  spend_overage: {
    status: 403,
    means: "An earlier call cost more than its ceiling, so the run spends nothing more.",
    mend: "Have a person look at the charge before any new run.",
  },
  // The gateway itself
  internal_fault: {
    status: 500,
    means: "The gateway failed in a way it did not foresee. Nothing more was sent.",
    mend: "Look at the gateway's own messages; the correlation id is in both places.",
  },
} as const satisfies Record<string, CodeEntry>;

export type Code = keyof typeof codes;

export function statusOf(code: Code): number {
  return codes[code].status;
}
