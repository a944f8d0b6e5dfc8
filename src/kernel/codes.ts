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
  // The person's own shell
  shell_program_foreign: {
    status: 409,
    means: "There is another program called gw where the link to this one would stand.",
    mend: "Move it away, or type this program by its absolute name.",
  },
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
  head_too_large: {
    status: 431,
    means: "The request line and header fields are larger than the server reads.",
    mend: "Send fewer or shorter fields.",
  },
  request_cut_off: {
    status: 400,
    means: "The connection ended before the request was whole. Nothing was carried out.",
    mend: "Send it again on a new connection.",
  },
  expectation_failed: {
    status: 417,
    means: "The Expect field asks for something that this program does not do.",
    mend: "Send no Expect, or 100-continue.",
  },
  request_timed_out: {
    status: 408,
    means: "The request did not arrive whole in the time the server waits.",
    mend: "Send it again on a new connection.",
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
  // Requests: forms, queries, multipart, signatures
  query_malformed: {
    status: 400,
    means: "The query string is not a strict sequence of encoded name=value pairs.",
    mend: "Encode each name and value once as UTF-8, join them with &, and leave no pair empty.",
  },
  form_malformed: {
    status: 400,
    means: "The form body is not a strict sequence of encoded name=value pairs.",
    mend: "Encode each name and value once as UTF-8, join them with &, and leave no pair empty.",
  },
  repeated_name: {
    status: 400,
    means: "A field, query parameter or part that may come once came more than once.",
    mend: "Send it once. Only what the schema declares as a list repeats.",
  },
  multipart_malformed: {
    status: 400,
    means: "The multipart body is not a strict sequence of named parts.",
    mend: "Start with the boundary, end with the closing boundary, and put nothing before, between or after.",
  },
  part_header_refused: {
    status: 400,
    means: "A part carries a header field that the route does not admit, or lacks one that it asks for.",
    mend: "Send Content-Disposition with name (and filename for files), and Content-Type as the route says.",
  },
  request_signature_missing: {
    status: 401,
    means: "The route takes signed requests, and no signature came.",
    mend: "Send the key id and the signature in the fields that the route documents.",
  },
  request_signature_invalid: {
    status: 401,
    means: "The signature does not verify for this key and request.",
    mend: "Sign exactly the statement that the documentation describes, with an enrolled key.",
  },
  request_encoding_not_canonical: {
    status: 400,
    means: "A canonical signature came with a body, path or query that is not in its canonical spelling.",
    mend: "Send the RFC 8785 form of the body and the plain encoding of path and query.",
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
  // URLs
  already_encoded: {
    status: 422,
    means: "An argument holds a percent escape, and arguments are unencoded text.",
    mend: "Send plain text. If the percent sign is meant, the action must declare percent: literal.",
  },
  segment_refused: {
    status: 422,
    means:
      "A path segment is empty, is or holds . or .., could be read as such further on, or makes the path that of another action.",
    mend: "Send the name of one thing, not a path; what another action of the pack says is done with that.",
  },
  text_malformed: {
    status: 422,
    means: "Text holds a lone surrogate or a control character where none may stand.",
    mend: "Send well-formed text.",
  },
  percent_malformed: {
    status: 400,
    means: "A path holds a malformed escape, bytes that are not UTF-8, or a character that must be escaped.",
    mend: "Encode each segment once, as UTF-8.",
  },
  parameter_repeated: {
    status: 422,
    means: "A query parameter that takes one value came more than once.",
    mend: "Send it once. Only parameters declared as lists repeat.",
  },
  origin_refused: {
    status: 422,
    means: "An origin is not https (http on loopback), or not in its plain spelling.",
    mend: "Write scheme, host and port only, as the message shows.",
  },
  template_malformed: {
    status: 422,
    means: "A path template is not literal segments and whole {name} segments.",
    mend: "Make each parameter a segment of its own.",
  },
  url_altered: {
    status: 422,
    means: "The finished URL does not parse back to the origin and path that the action describes.",
    mend: "This is a guard that should never fire; report the action and its arguments.",
  },
  url_not_allowed: {
    status: 403,
    means: "A full URL is outside the action's list of origins and paths, or not in its plain spelling.",
    mend: "Use a URL under an allowed prefix.",
  },
  redirect_refused: {
    status: 403,
    means: "The provider redirected somewhere that this call may not go.",
    mend: "The reason is in the message. A person may add the origin to the pack.",
  },
  // Action packs
  pack_unknown: {
    status: 404,
    means: "This home has no pack of that name.",
    mend: "See them with gw pack list, or bring one in with gw pack add FILE.",
  },
  pack_malformed: {
    status: 422,
    means: "The file is not plain YAML: one document, UTF-8, no directives, no hidden characters.",
    mend: "Correct the text at the line and column given.",
  },
  pack_too_large: {
    status: 422,
    means: "The file is larger than a pack may be.",
    mend: "Split it into several packs.",
  },
  pack_duplicate_key: { status: 422, means: "A mapping names a key twice.", mend: "Keep one of them." },
  pack_alias_refused: {
    status: 422,
    means: "The file uses an alias, an anchor or a tag.",
    mend: "Write the value out where it is meant.",
  },
  pack_reference_unknown: {
    status: 422,
    means: "An action names another that the pack does not have.",
    mend: "Define the action, or correct the name.",
  },
  pack_reference_unfit: {
    status: 422,
    means: "An action names another that cannot serve there.",
    mend: "The message says which effect and inputs it must have.",
  },
  pack_member_unfit: {
    status: 422,
    means: "A member does not belong with the others beside it.",
    mend: "Drop it, or change what it contradicts.",
  },
  pack_actions_overlap: {
    status: 422,
    means: "Two actions of a pack can send the same request, so that a tool in a box can send neither.",
    mend: "Give one of them a constant or a required input that the other has not, or make them one action.",
  },
  pack_input_unfit: {
    status: 422,
    means: "An input cannot go where the action says.",
    mend: "The message says what that place can hold.",
  },
  pack_header_forbidden: {
    status: 422,
    means: "A pack names a header field that is not an action's to set.",
    mend: "Drop it: host, credentials, framing and hop-by-hop fields belong to the gateway.",
  },
  pack_preview_unsafe: {
    status: 422,
    means: "A preview could execute: by OPTIONS, by a query flag alone, or by the same request as the write.",
    mend: "Use the provider's plan endpoint, or a body member mode with const: preview.",
  },
  pack_confirm_missing: {
    status: 422,
    means: "An action that needs a plan names no read that shows its effect.",
    mend: "Add confirm with a read action.",
  },
  pack_retry_unfit: {
    status: 422,
    means: "The retry class does not fit the effect, or lacks an idempotency token.",
    mend: "Leave retry out for the careful default, or declare the provider's idempotency.",
  },
  pack_asks_each_call: {
    status: 200,
    means: "A warning: the action may cost without a ceiling, so that every call asks a person.",
    mend: "Give max_cost_cents where the provider has a fixed or capped price.",
  },
  pack_preview_missing: {
    status: 200,
    means: "A warning: the action changes or deletes something, and nobody sees beforehand what.",
    mend: "Name a preview in needs.plan, or say preview: none, so that every call asks a person.",
  },
  pack_worth_a_look: {
    status: 200,
    means: "A warning: unusual enough that a reviewer should look.",
    mend: "Change it, or leave it if it is what the provider needs.",
  },
  header_value_refused: {
    status: 422,
    means: "A header value is not one line of printable ASCII.",
    mend: "Send plain text without line breaks or blanks at its ends.",
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
  list_handle_unknown: {
    status: 404,
    means:
      "No list of this run, caller, action and input goes on under this handle: its time is over, or the gateway was locked or started anew, which no handle survives.",
    mend: "Begin the list again, without continue.",
  },
  day_spend_exhausted: {
    status: 403,
    means: "The most this call can cost does not fit what all runs of this day may still spend.",
    mend: "Wait for the next day (UTC), or ask an operator: gw policy set day_spend_cents.",
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
  // Callers
  caller_unknown: {
    status: 403,
    means: "The operating system does not say which process is behind the connection.",
    mend: "Connect from a process on this machine, in a namespace that the gateway can see.",
  },
  caller_unreadable: {
    status: 403,
    means: "The gateway may not look at the process behind the connection.",
    mend: "Run the agent as the gateway's own user, or set up dedicated mode with gw-ident: docs/install.md.",
  },
  descriptors_exhausted: {
    status: 503,
    means:
      "The gateway has as many files and connections open as the system lets it, and could not look at who is calling. Nothing was done.",
    mend: "Connect again in a moment. Whoever runs the gateway ends what holds connections to it, or raises its limit (ulimit -n, LimitNOFILE= of its unit).",
  },
  ident_unavailable: {
    status: 503,
    means:
      "gw-ident, which looks at callers of other users for the gateway, does not answer or is not the one expected.",
    mend: "Start it again (systemctl restart gw-ident), then repeat the call; nothing was done.",
  },
  ident_stranger: {
    status: 403,
    means: "gw-ident was asked by somebody who is not the gateway.",
    mend: "Nobody but the gateway needs to ask it.",
  },
  ident_not_permitted: {
    status: 503,
    means: "gw-ident was started with other rights than the one it needs.",
    mend: "Start it by its unit, or as the message says.",
  },
  caller_gone: {
    status: 403,
    means: "The process that made the connection has exited.",
    mend: "Connect again; the new process is a new caller and is asked about.",
  },
  caller_replaced: {
    status: 403,
    means: "The process behind the connection runs another image than the one that was identified.",
    mend: "Connect again; after exec a process is a new caller and is asked about.",
  },
  caller_traced: {
    status: 403,
    means: "Another process traces the caller and can act as it.",
    mend: "Detach the debugger or tracer, then call again.",
  },
  caller_writer_changed: {
    status: 403,
    means: "Bytes on the connection were written by another process than the one that made it.",
    mend: "Let every process open its own connection; never hand a connected socket on.",
  },
  caller_writer_unknown: {
    status: 403,
    means: "The kernel did not say who wrote the bytes on the connection.",
    mend: "Connect again. If it happens often, use a Linux kernel of 6.16 or newer.",
  },
  caller_signer_invalid: {
    status: 422,
    means: "The signer, trusted root, bundle or key given for callers' signatures cannot be used.",
    mend: "Give a file of the kind that docs/callers.md names, or remove what is in the way: gw caller list.",
  },
  platform_unsupported: {
    status: 501,
    means: "This operating system gives no caller identity that the gateway can rely on.",
    mend: "Run the gateway on Linux or macOS.",
  },
  // Our own programs
  program_traced: {
    status: 500,
    means: "A tracer is attached to this program, so it refuses to hold anything secret.",
    mend: "Start it without a debugger or tracer.",
  },
  program_debuggable: {
    status: 500,
    means: "This program could be made to open a debugger from outside.",
    mend: "Start it through its launcher, which passes --disable-sigusr1 and clears NODE_OPTIONS.",
  },
  program_not_hardened: {
    status: 500,
    means: "The operating system refused a protection that this program must have before it may run.",
    mend: "The message names the protection; see docs/callers.md.",
  },
  contain_unavailable: {
    status: 501,
    means: "This machine does not let a user make the namespaces that a contained run needs.",
    mend: "The message and gw doctor name the setting; docs/contained.md has the limits.",
  },
  box_request_refused: {
    status: 403,
    means:
      "A tool in a contained run sent what is not carried: a request to an address, through a proxy, or in another protocol.",
    mend: "Let the tool speak plain HTTPS to the name of the host; see docs/contained.md.",
  },
  // Upgrades: documents, decisions, probes
  file_unreadable: {
    status: 422,
    means: "A file that the command needs cannot be read or written.",
    mend: "Check the path and its permissions.",
  },
  document_too_large: {
    status: 413,
    means: "An API document is larger, deeper or has more parts than a review takes.",
    mend: "Cut the document to the operations that matter, or raise the limit that the message names.",
  },
  document_malformed: {
    status: 400,
    means: "An API document is not UTF-8, not JSON or YAML, or names a member twice.",
    mend: "Correct the text at the line and column in the message.",
  },
  document_invalid: {
    status: 422,
    means: "The text can be read, but it is not a Swagger 2 or OpenAPI 3.0 or 3.1 document that can be reviewed.",
    mend: "Each entry of errors[] names a place; correct it there or ask the provider to.",
  },
  reference_remote: {
    status: 422,
    means: "A reference leaves the document. A review opens nothing but the two files it was given.",
    mend: "Bundle the document into one file first, and review that.",
  },
  reference_broken: {
    status: 422,
    means: "A local reference points at nothing, or only at itself.",
    mend: "Correct the reference at the place in the message.",
  },
  operation_id_duplicate: {
    status: 422,
    means: "Two operations carry one operationId, so that no decision could name either.",
    mend: "Give each operation its own operationId.",
  },
  upgrade_undecided: {
    status: 409,
    means: "The review has differences that nobody has decided, or whose signature does not hold.",
    mend: "Read the report and decide each one with gw upgrade decide.",
  },
  upgrade_refused: {
    status: 409,
    means: "A reviewer rejected a difference, so that this version must not be used.",
    mend: "Stay on the old version, narrow what the new one can reach, or decide anew with a reason.",
  },
  review_mismatch: {
    status: 409,
    means: "What was looked at is not this change: another API, another version, or the same document twice.",
    mend: "Name the provider's documents of the trusted and the new version, or a probe of exactly these two.",
  },
  narrowing_unproven: {
    status: 409,
    means: "The identity that is said to be narrower does not exist, cannot be used, or was not seen to reach less.",
    mend: "Add it to the vault, bind it to no more origins, and probe the same corpus with it: --against WIDE --proof NARROW.",
  },
  review_file_invalid: {
    status: 422,
    means: "The review file, the authority map or a saved report cannot be read as one, or is not as it was signed.",
    mend: "Restore the file from version control, or probe again and save what it prints; it is never repaired by guessing.",
  },
  difference_unknown: {
    status: 404,
    means: "No difference or group of this review has that id.",
    mend: "Take the id from the report; ids change when the difference itself changes.",
  },
  corpus_invalid: {
    status: 422,
    means: "The probe corpus is not in the format, names something that it does not define, or is too large.",
    mend: "Each entry of errors[] names a place in the file.",
  },
  side_effect_unapproved: {
    status: 403,
    means: "A probe has a side effect that nobody approved.",
    mend: "Leave it out, or have a person approve the side effects of this corpus.",
  },
  authority_increase: {
    status: 403,
    means: "The new version allowed what had to be denied. The upgrade is blocked and the credential disabled.",
    mend: "Revoke the credential at the provider, make a narrower identity, and have an operator restore it.",
  },
  // Scope and approval
  action_not_permitted: {
    status: 403,
    means: "This run may not do that. An action that does not exist gets the same answer.",
    mend: "Work within what was granted, or ask a person for a wider run; gw actions shows what there is.",
  },
  // Requests of tools in a box
  origin_not_in_packs: {
    status: 403,
    means: "A tool in a box spoke to a place that no pack of its run speaks to. Nothing was sent.",
    mend: "Open the run with actions of a pack for that origin; gw pack list shows which there are.",
  },
  path_not_in_packs: {
    status: 403,
    means: "A tool in a box asked for a path that no action of its run's packs has. Nothing was sent.",
    mend: "gw actions shows what there is. What is missing is added to the pack and reviewed.",
  },
  request_not_in_packs: {
    status: 403,
    means: "A tool in a box sent a request that no action says exactly as it stands. Nothing was sent.",
    mend: "The answer names the nearest action and what kept it from fitting.",
  },
  action_ambiguous: {
    status: 403,
    means: "Two actions of one pack say the same request, so that nobody can tell which was meant. Nothing was sent.",
    mend: "Give one of them an input or a constant that the other does not have; gw pack lint shows such pairs.",
  },
  pack_choice_needed: {
    status: 403,
    means: "Two packs of the run speak to one origin and both say this request. Nothing was sent.",
    mend: "Open the run with the actions of one of them: gw run --actions PACK.*",
  },
  git_push_malformed: {
    status: 422,
    means: "What a push says of its refs cannot be read, or cannot be written.",
    mend: "A push names refs under refs/, with the old and the new commit of each.",
  },
  credential_foreign: {
    status: 403,
    means:
      "A tool in a box brought a credential that is not the placeholder of its run. Nothing was sent or kept of it.",
    mend: "Use the placeholder from the box's environment, or no credential: the gateway adds the real one.",
  },
  outcome_unknown: {
    status: 403,
    means: "A request of a tool in a box was sent, and nobody saw how it ended. It may have happened.",
    mend: "Do not repeat it. gw activity shows the call, and the gateway looks for what became of it.",
  },
  provider_not_answered: {
    status: 403,
    means: "The provider could not be reached, or gave no answer to a read of a tool in a box.",
    mend: "Look at the provider's state, then run the tool again.",
  },
  answer_withheld: {
    status: 403,
    means: "The provider's answer held something that no tool in a box may see, such as the credential.",
    mend: "gw activity shows how the call ended; the answer itself is not shown to anybody.",
  },
  approval_denied: {
    status: 403,
    means: "A person said no. Their reason is in the message.",
    mend: "Do not try another way around it; ask the person.",
  },
  approval_expired: {
    status: 403,
    means: "Nobody decided in time. Nothing was sent.",
    mend: "Ask again when somebody is there to decide.",
  },
  approval_withdrawn: {
    status: 403,
    means: "The question was taken back: the caller or the run ended, or the gateway was locked or restarted.",
    mend: "Start a new run when the cause is gone.",
  },
  approval_cooling_down: {
    status: 403,
    means: "The same thing was denied a moment ago and is not asked again yet.",
    mend: "Wait, and do not repeat what a person refused.",
  },
  approvals_full: {
    status: 403,
    means: "Too many questions of this user are waiting for a person.",
    mend: "Wait until some are decided.",
  },
  approval_not_pending: {
    status: 409,
    means: "The question is already decided, expired or withdrawn. The late decision changed nothing.",
    mend: "Look at its state; a new question needs a new decision.",
  },
  card_mismatch: {
    status: 409,
    means: "The decision was signed for another card than the one that is open.",
    mend: "Read the card as it is now and decide again.",
  },
  signature_invalid: {
    status: 403,
    means: "A statement does not carry the signature of an operator of this gateway.",
    mend: "Sign with an enrolled operator's key.",
  },
  passkey_needed: {
    status: 403,
    means: "Policy demands a passkey for this yes, and the decision carries none. Nothing was decided.",
    mend: "Approve it in the console: gw console. A no needs no passkey.",
  },
  passkey_malformed: {
    status: 422,
    means: "What an authenticator or browser sent for a passkey cannot be read.",
    mend: "Try again with another authenticator; if it stays so, something between it and gw changes its answer.",
  },
  passkey_refused: {
    status: 403,
    means:
      "A passkey answered, and not for this: another card, place, operator or key, or without checking who is there.",
    mend: "Use a passkey that gw passkey list names, at the place it names, and let it check who you are.",
  },
  passkey_cloned: {
    status: 403,
    means: "A passkey's counter went back: somebody may hold a copy of it.",
    mend: "Remove it with gw passkey remove, enrol another, and look at what was approved with it.",
  },
  console_link_spent: {
    status: 403,
    means: "A link of gw console was used already, or is too old.",
    mend: "Copy the newest link from its terminal. If you never opened the old one, find out who did.",
  },
  console_not_entered: {
    status: 401,
    means: "A request to gw console carries no key of a page that it let in.",
    mend: "Open the newest link in the terminal of gw console.",
  },
  console_origin_foreign: {
    status: 403,
    means: "A request reached gw console under another name, or from another page than its own.",
    mend: "Open the console by its own link. If no page of yours did this, some page tried to speak in your name.",
  },
  console_port_taken: {
    status: 409,
    means: "Another program listens where gw console would.",
    mend: "Stop it, or choose another with --port; passkeys belong to the port they were enrolled at.",
  },
  console_secret_needed: {
    status: 403,
    means: "What was pressed in gw console acts or signs, and in guard-rail mode the person's own secret goes with it.",
    mend: "Type the PIN, or the passphrase where there is none.",
  },
  console_only_here: {
    status: 403,
    means: "A console that listens beyond this machine looks, decides and ends sessions, and does nothing else.",
    mend: "Do it in gw console on the operator's own machine, or with a command there.",
  },
  console_not_by_hub: {
    status: 403,
    means:
      "A console with --hub looks at all gateways, decides, signs the grant beside a card, ends sessions and sees to operations, and does nothing else.",
    mend: "Do it on a host of the vault: in gw console there, or with a command.",
  },
  console_login_busy: {
    status: 429,
    means: "Too many logins to gw console were tried from one place, or in all.",
    mend: "Wait a minute. If it was not you, look who can reach the address that it listens on.",
  },
  console_draft_gone: {
    status: 409,
    means: "What was about to be signed in the console is no longer held.",
    mend: "Decide again.",
  },
  passkey_unknown: {
    status: 404,
    means: "No passkey of that name is enrolled.",
    mend: "See them with gw passkey list.",
  },
  decision_rule_unfit: {
    status: 409,
    means: "With this rule nobody, or not enough people, could approve what it is about. Nothing was changed.",
    mend: "Enrol a passkey in the console, or admit a second operator, first.",
  },
  approver_already: {
    status: 409,
    means: "This operator has approved it already, and policy wants two people.",
    mend: "Another operator approves it, or anybody denies it.",
  },
  approvals_differ: {
    status: 409,
    means: "Two people have to approve the same thing, and the second narrowed it otherwise than the first.",
    mend: "Approve it as the first did, or deny it.",
  },
  call_cancelled: {
    status: 409,
    means: "Whoever asked for the call took it back before it was sent. Nothing was sent.",
    mend: "Ask again if it is wanted after all.",
  },
  result_gone: {
    status: 410,
    means: "The call ended, and its answer is no longer held: answers of later calls took its room.",
    mend: "Do not repeat the call for it: gw activity show says how it ended. Fetch large answers as soon as they are there.",
  },
  run_ended: {
    status: 403,
    means: "The run is over: it was revoked, its caller is gone, or its time passed.",
    mend: "Start a new run; it needs a new approval.",
  },
  grant_ended: {
    status: 403,
    means:
      "The grant in signed policy that this session stood on was removed, changed, is over, or no longer covers the caller.",
    mend: "Start a new run: a person is asked, or another grant covers it. Nothing was sent.",
  },
  grant_invalid: {
    status: 400,
    means: "What was typed is no grant that could be signed; the message says which word does not fit.",
    mend: "Correct that word. gw grant add --help shows an example.",
  },
  pinentry_failed: {
    status: 400,
    means: "The dialog that asks for the passphrase was closed, or gave no answer that could be read.",
    mend: "Run it again, or run gw login in a terminal.",
  },
  pack_place_invalid: {
    status: 400,
    means: "A pack cannot be reached at what was named; the message says why.",
    mend: "Name the origin of your installation and the path that all of its API stands below: gw pack place --help",
  },
  webhook_invalid: {
    status: 400,
    means: "What was typed is no webhook that could be signed; the message says what does not fit.",
    mend: "Correct it, or add the secret that it names first. docs/webhooks.md shows each receiver.",
  },
  grant_exists: {
    status: 409,
    means: "A grant of that name stands in signed policy already.",
    mend: "Choose another name, or remove the old one first with gw grant remove NAME.",
  },
  session_ended: {
    status: 403,
    means: "The approval that tied this caller to the run has ended.",
    mend: "Start a new run; a new process always needs a new approval.",
  },
  credential_missing: {
    status: 403,
    means: "The pack names a credential that the vault does not hold.",
    mend: "An operator adds it with gw credential add.",
  },
  gateway_locked: {
    status: 503,
    means: "The gateway is locked and holds no credential. Nothing was sent.",
    mend: "An operator unlocks it with gw unlock.",
  },
  server_not_proven: {
    status: 403,
    means:
      "Whoever answers at the operator socket could not be proven to be the gateway. The service key was not handed over.",
    mend: "Find out which process that is. If you have just started it yourself: gw unlock --first. Otherwise start the gateway with gw up, which holds the process it started.",
  },
  not_stopped: {
    status: 409,
    means: "The gateway records as it should, so there is nothing to resume.",
    mend: "Look at gw status; nothing was changed.",
  },
  disk_low: {
    status: 503,
    means: "The disk under the gateway's home has only its reserve left; what began may end, and nothing new begins.",
    mend: "Free disk space: gw status shows when it is enough, and nothing has to be started again.",
  },
  gateway_stopped: {
    status: 503,
    means: "The gateway cannot record any more and has stopped sending. Nothing was sent.",
    mend: "Free disk space or mend the disk, then gw resume, which verifies the log first; or start the gateway again.",
  },
  end_unrecorded: {
    status: 503,
    means:
      "What an operator took away is gone: the session has ended, or the gateway is locked. It could not be recorded any more.",
    mend: "There is nothing to revoke or lock again. Free disk space or mend the disk, then gw resume, which verifies the log first; or start the gateway again.",
  },
  operator_not_logged_in: {
    status: 401,
    means: "The operator plane does not know who is speaking.",
    mend: "Log in with an operator's passphrase; the command line does it for you.",
  },
  login_reads_only: {
    status: 403,
    means: "This login may look and change nothing.",
    mend: "Use the command for it, which asks for your PIN or passphrase.",
  },
  headless_unlock_off: {
    status: 403,
    means: "A key file was given, and signed policy does not allow it to unlock the gateway.",
    mend: "Unlock with an operator's passphrase, or sign it: gw policy set headless_unlock on.",
  },
  vault_foreign: {
    status: 409,
    means: "The gateway at the socket works with another vault than this home's.",
    mend: "Name the right home with --home, or stop the other gateway.",
  },
  gateway_unreachable: {
    status: 503,
    means: "No gateway answers at the socket.",
    mend: "Start one with gw up, or name its home with --home.",
  },
  gateway_ended: {
    status: 503,
    means:
      "The gateway's process ended otherwise than in order: somebody or the system killed it (for want of memory, say), or it failed.",
    mend: "Start it again as before: that recovers the log and the state, and sends nothing a second time. A call that was under way becomes unknown; gw operation list shows what is open.",
  },
  answer_not_declared: {
    status: 502,
    means: "What the gateway answered is not what its route declares. Nothing of it was used.",
    mend: "Use the gw of the version that the gateway runs (gw version). Of a change, look first whether it was made.",
  },
  server_not_expected: {
    status: 403,
    means: "Another user's process answers at the gateway's socket. Nothing was sent to it.",
    mend: "Find out whose process it is; the gateway's user is in /etc/gw/gw.yaml, or the owner of the home.",
  },
  gateway_running: {
    status: 409,
    means: "A gateway of this home is at work already.",
    mend: "Use it (gw status), or stop it before you start another.",
  },
  install_foreign: {
    status: 409,
    means: "A file that gw install --user would write or remove is somebody else's.",
    mend: "Move it away, then run the command again.",
  },
  home_not_here: {
    status: 403,
    means: "The command needs the gateway's home itself, which belongs to another user.",
    mend: "Run it as that user; the message gives the command.",
  },
  socket_path_unsafe: {
    status: 503,
    means: "The gateway cannot put its socket there safely.",
    mend: "The message gives the command.",
  },
  socket_planted: {
    status: 503,
    means: "Something that is no socket of this gateway lies where its socket belongs.",
    mend: "Find out who made it, remove it, and start the gateway again.",
  },
  port_in_use: {
    status: 409,
    means: "A loopback port that a pack names is taken by something else.",
    mend: "Stop what uses it, or start with another home.",
  },
  config_invalid: {
    status: 400,
    means: "config.yaml or /etc/gw/gw.yaml is not valid.",
    mend: "Mend the file at the place named, or remove it to use the defaults.",
  },
  state_tampered: {
    status: 403,
    means: "A stored record does not authenticate: somebody changed the state file. The run it belongs to was stopped.",
    mend: "Find out who writes to the home folder before you start a new run.",
  },
  state_rolled_back: {
    status: 503,
    means: "state.db is older than the log knows it, or its note about the last vault and policy is gone.",
    mend: "Put the newest file back. If it is lost: gw restore FILE with a backup, or gw restore --as-found. Where a key file alone was refused because the log does not show that this gateway was never unlocked, an operator may look and unlock it: gw unlock --first.",
  },
  too_many_requests: {
    status: 429,
    means:
      "This user has too many connections, calls that wait or refusals in a short time, or had as much written down as fits a day before a person says yes.",
    mend: "Slow down; the gateway counts refusals instead of writing each one. A run that stands goes on.",
  },
  // Callbacks from providers
  callback_refused: {
    status: 404,
    means:
      "The callback was not taken: there is no such pack, its signature does not verify, or the gateway is locked.",
    mend: "Look in the log, which says which of them; nobody outside is told.",
  },
  callback_pack_unknown: {
    status: 404,
    means: "A callback came for a pack that is not trusted or takes no callbacks.",
    mend: "Trust the pack, and say in it how its provider's callbacks are verified.",
  },
  callback_signature_invalid: {
    status: 404,
    means: "A callback is not signed with the pack's secret, or not as the pack says.",
    mend: "Compare the provider's signing secret and scheme with the vault and the pack; otherwise somebody else sent it.",
  },
  callback_too_old: {
    status: 404,
    means: "A callback is signed for a time too far from now: it was replayed, or a clock is wrong.",
    mend: "Check the clock of this machine. Polling goes on without callbacks.",
  },
  callback_unreadable: {
    status: 400,
    means: "A callback verifies, but its body is not strict JSON.",
    mend: "Tell the provider. Polling goes on without callbacks.",
  },
  // The command line
  client_unknown: {
    status: 404,
    means: "gw connect does not know a client of this name.",
    mend: "Use one of the names in the message, or gw connect json for any other client.",
  },
  client_config_invalid: {
    status: 409,
    means: "The client's configuration file cannot be merged into. It was left untouched.",
    mend: "Mend the place in the message, or paste what gw connect prints by hand.",
  },
  interrupted: { status: 400, means: "A prompt was interrupted.", mend: "Run the command again." },
  demo_astray: {
    status: 500,
    means: "A scene of gw demo did not go as it is told.",
    mend: "The message says what was expected and what came: that is a fault of this program or of the machine.",
  },
  command_not_found: {
    status: 400,
    means: "The command that gw run should start is not there.",
    mend: "Check its name and PATH. Nobody was asked and nothing ran.",
  },
  command_not_executable: {
    status: 400,
    means: "The command that gw run should start cannot be executed.",
    mend: "Make it executable, or start it with its interpreter. Nothing ran.",
  },
  terminal_needed: {
    status: 400,
    means: "A question needs a terminal and there is none.",
    mend: "Run the command in a terminal, or use the option that names a file.",
  },
  secret_missing: {
    status: 400,
    means: "The file that should hold a secret is not there.",
    mend: "Check the path of the option.",
  },
  secret_mismatch: {
    status: 400,
    means: "A secret was typed in two different ways. Nothing was changed.",
    mend: "Run the command again.",
  },
  secret_too_large: { status: 413, means: "A secret is larger than the limit.", mend: "Check what was piped in." },
  // The state store
  store_newer: {
    status: 503,
    means: "The store was written by a newer program than this one.",
    mend: "Run the newer program, or restore a backup that this one wrote.",
  },
  migration_failed: {
    status: 503,
    means:
      "The state could not be brought to the format of this program. It opens as before; the copy is whole or not there.",
    mend: "Mend the cause that the message names, most often a full disk, then start again: docs/upgrading.md.",
  },
  store_foreign: {
    status: 503,
    means: "The store's schema history is not the one this program knows.",
    mend: "Check that the file belongs to this program; restore a backup if it was edited.",
  },
  store_unsafe: {
    status: 503,
    means: "The store's file or folder could be read or replaced by others, so it is not used.",
    mend: "The message says what is wrong; make the folder 0700 and the file 0600, owned by the user that runs the program.",
  },
  store_unreadable: {
    status: 503,
    means: "The store's file is not a database, or is damaged.",
    mend: "Keep the damaged file for inspection and restore a backup; of a home without one: move state.db, state.db-wal and state.db-shm away, then gw restore --as-found.",
  },
  // The vault, its operators and its credentials
  vault_missing: {
    status: 503,
    means: "There is no vault in the home folder.",
    mend: "Make one with gw init, or name the home with --home.",
  },
  vault_exists: {
    status: 409,
    means: "The home folder already holds a vault.",
    mend: "Use it, or name another home with --home.",
  },
  vault_malformed: {
    status: 503,
    means: "vault.json is not in the form that gw writes.",
    mend: "Restore a copy you trust.",
  },
  vault_tampered: {
    status: 503,
    means: "vault.json does not carry what an operator signed.",
    mend: "Find out who changed it, and restore a copy you trust.",
  },
  vault_rolled_back: {
    status: 503,
    means: "vault.json is older than the one that was used before.",
    mend: "Put the newest copy back. If it is lost: gw restore FILE with a backup, or gw restore --as-found.",
  },
  vault_forked: {
    status: 503,
    means: "vault.json is not a continuation of the vault that was used before.",
    mend: "Find out who replaced it, and put the newest copy back. If it is lost: gw restore.",
  },
  restore_unaccepted: {
    status: 503,
    means: "An operator restored an earlier state of this home, and this operator has not accepted that.",
    mend: "Ask whoever restored it, then: gw restore --accept",
  },
  restore_refused: {
    status: 403,
    means: "The restoration would give power back to somebody who was removed, or is not by an operator.",
    mend: "Let an operator of today restore it; whoever was removed is removed again with it.",
  },
  backup_malformed: {
    status: 400,
    means: "The file is not a whole backup that an operator of its vault made.",
    mend: "Use another backup.",
  },
  memory_unreadable: {
    status: 503,
    means: "What this operator's client remembers of the vault, outside the home, cannot be read or written.",
    mend: "Find out what damaged the file that the message names, or whose folder it is.",
  },
  vault_busy: { status: 503, means: "Another process is changing the vault.", mend: "Try again when it is done." },
  vault_locked: { status: 503, means: "The service compartment is closed.", mend: "Unlock it with gw unlock." },
  kdf_parameters_refused: {
    status: 503,
    means: "The vault asks for a key derivation that is too weak or too costly.",
    mend: "Restore a copy of vault.json you trust.",
  },
  service_key_wrong: {
    status: 403,
    means: "The service key does not open this vault.",
    mend: "Unlock with the passphrase, and write the key file again if there is one.",
  },
  key_file_malformed: {
    status: 503,
    means: "The key file or systemd credential does not hold a service key.",
    mend: "Write it again with gw unlock --write-key-file FILE.",
  },
  passphrase_wrong: {
    status: 403,
    means: "The passphrase is not this operator's. The try was counted.",
    mend: "Try again; wrong tries get slower.",
  },
  passphrase_weak: {
    status: 422,
    means: "The passphrase is too short or too simple.",
    mend: "Take the generated one, or a longer one.",
  },
  pin_wrong: {
    status: 403,
    means: "The PIN is not this operator's. Five in a row, and only the passphrase works.",
    mend: "Try again, or log in anew: gw login.",
  },
  login_over: {
    status: 410,
    means: "gw login has ended: its time is over, the machine slept, or too many PINs were wrong. The keys are gone.",
    mend: "Log in again: gw login.",
  },
  pin_invalid: { status: 422, means: "A PIN is 4 to 12 digits.", mend: "Choose digits only." },
  operator_unknown: {
    status: 404,
    means: "The vault has no such operator, or several and none was named.",
    mend: "Name one with --operator; gw operator list shows them.",
  },
  operator_exists: { status: 409, means: "An operator has that name already.", mend: "Choose another name." },
  operator_last: { status: 409, means: "The last operator cannot be removed.", mend: "Add another operator first." },
  operator_self: { status: 409, means: "Operators do not remove themselves.", mend: "Ask another operator to do it." },
  operator_name_invalid: {
    status: 422,
    means: "The name is not one an operator can have.",
    mend: "Use 1 to 32 of a-z, 0-9, dot, dash and underscore.",
  },
  operators_full: {
    status: 409,
    means: "The vault has no room for another change of operators.",
    mend: "Make a new vault and move the credentials.",
  },
  credential_unknown: {
    status: 404,
    means: "The vault holds no credential with that label.",
    mend: "gw credential list shows the labels.",
  },
  credential_exists: {
    status: 409,
    means: "The vault holds a credential with that label.",
    mend: "Rotate it, or remove it first.",
  },
  credential_invalid: {
    status: 422,
    means: "The credential, its label or what it is bound to cannot be stored.",
    mend: "The message says what is expected.",
  },
  credential_reused: {
    status: 409,
    means: "The new secret is one that this credential had before.",
    mend: "Make a new secret at the provider.",
  },
  credential_disabled: {
    status: 403,
    means: "The credential is disabled or was suspended. Nothing was sent.",
    mend: "An operator enables it with gw credential enable LABEL.",
  },
  credential_not_bound: {
    status: 403,
    means: "The credential is not bound to this origin, host key or use. Nothing was lent.",
    mend: "Correct the pack; or an operator adds the credential again for that place.",
  },
  credential_shared: {
    status: 403,
    means:
      "The credential has a refresh token that several gateways on the hub may use, and none has begun to share it there, or this one is not on that hub. Nothing was sent.",
    mend: "An operator begins where it was used last, or was added: gw credential test LABEL. Or one gateway alone lends it: gw credential lend LABEL --gateway NAME.",
  },
  token_unavailable: {
    status: 503,
    means:
      "No short-lived token could be got for the credential: its token endpoint failed. Nothing of the call was sent.",
    mend: "Try again later; the message says when at the earliest. gw credential test LABEL tries now.",
  },
  token_refused: {
    status: 403,
    means: "The token endpoint refused the client, its key, or what was asked for. Nothing of the call was sent.",
    mend: "An operator compares the credential with what the provider knows: gw credential test LABEL.",
  },
  token_grant_ended: {
    status: 403,
    means:
      "The consent behind the credential was withdrawn or its refresh token is spent. It was suspended; nothing of the call was sent.",
    mend: "An operator agrees once more with gw credential login LABEL, or gives a new one with gw credential rotate LABEL.",
  },
  source_unavailable: {
    status: 503,
    means: "The place that the credential's secret is kept in did not give it. Nothing of the call was sent.",
    mend: "Try again later; the message says why. gw credential test LABEL tries now.",
  },
  source_unfit: {
    status: 502,
    means:
      "What the source gave is no secret of this kind: a second line, too short, or another form. Nothing was sent.",
    mend: "An operator looks at what is kept there: gw credential test LABEL.",
  },
  token_scope_missing: {
    status: 403,
    means: "The action needs scopes that its credential is not pinned to. Nothing was sent.",
    mend: "An operator adds the credential again with these scopes, or the pack asks for less.",
  },
  token_scope_beyond: {
    status: 403,
    means:
      "The provider granted more than the credential is pinned to. The token was thrown away; nothing of the call was sent.",
    mend: "Narrow the client at the provider, or add the credential again with the scopes that the message names.",
  },
  request_key_missing: {
    status: 409,
    means: "The vault is older than the gateway's own key, by which hosts know its requests.",
    mend: "Draw one with gw ssh new-key. Hosts that pin no key go on as before.",
  },
  ssh_key_malformed: {
    status: 422,
    means: "The file is no private key that gw can read.",
    mend: "Give the private key file that ssh-keygen wrote.",
  },
  ssh_key_mismatch: {
    status: 422,
    means: "The halves of the private key do not belong together.",
    mend: "The file is damaged: take the original.",
  },
  ssh_key_passphrase_needed: {
    status: 422,
    means: "The private key is encrypted.",
    mend: "Give its passphrase when asked, or with --key-passphrase-file FILE.",
  },
  ssh_key_passphrase_wrong: {
    status: 422,
    means: "The passphrase does not open the private key.",
    mend: "Try again with the right one.",
  },
  ssh_key_weak: {
    status: 422,
    means: "The key is too short to be safe.",
    mend: "Make a new one with ssh-keygen -t ed25519.",
  },
  ssh_key_unsupported: {
    status: 422,
    means: "The key, its cipher or its derivation is of a kind that gw does not use.",
    mend: "Make a new one with ssh-keygen -t ed25519.",
  },
  ssh_signature_refused: {
    status: 403,
    means: "A host asked for a signature that gw does not make.",
    mend: "Update the host, or use an Ed25519 key.",
  },
  // The signed policy
  policy_missing: {
    status: 503,
    means: "There is no policy.json beside the vault.",
    mend: "Restore it, or run gw init in a new home.",
  },
  policy_malformed: {
    status: 503,
    means: "policy.json is not in the form that gw writes.",
    mend: "Restore a copy you trust.",
  },
  policy_tampered: {
    status: 503,
    means: "policy.json does not carry the signature of an operator of this vault.",
    mend: "Find out who changed it, and restore a copy you trust.",
  },
  policy_rolled_back: {
    status: 503,
    means: "policy.json is older than the one that was used before.",
    mend: "Put the newest copy back. If it is lost: gw restore FILE with a backup, or gw restore --as-found.",
  },
  // Files of the home folder
  file_permissions_open: {
    status: 503,
    means: "Others could read or write a private file or folder.",
    mend: "The message gives the command.",
  },
  file_not_regular: {
    status: 503,
    means: "A private file or folder is a link or another kind of file.",
    mend: "Replace it with a regular one, or name the real place with --home.",
  },
  file_unusable: {
    status: 503,
    means: "A file or folder cannot be used: the operating system refused, and the message says what it is and why.",
    mend: "Do what the message says.",
  },
  file_not_owned: {
    status: 503,
    means: "A private file or folder belongs to another user.",
    mend: "The message gives the command.",
  },
  file_too_large: {
    status: 503,
    means: "A private file is larger than gw ever writes it.",
    mend: "Restore a copy you trust.",
  },
  file_not_written: {
    status: 503,
    means: "A private file could not be written durably; the old one or the new one is in place, never a part.",
    mend: "Free space or mend the disk, look which one is there, and try again.",
  },
  // The audit log
  log_backlogged: {
    status: 503,
    means: "More events wait for the disk than the audit log may hold. Nothing was recorded or sent.",
    mend: "Try again in a moment; when it persists, look at the disk under the log.",
  },
  log_failed: {
    status: 503,
    means: "A write or flush of the audit log failed, so nothing is sent any more.",
    mend: "Mend the disk (space, permission, hardware) and start the gateway again; a failed flush is never retried.",
  },
  log_in_use: {
    status: 503,
    means: "Another process is writing this audit log.",
    mend: "Stop the other gateway, or give this one its own home.",
  },
  log_damaged: {
    status: 503,
    means: "The audit log on disk is not whole, and not in a way that an interrupted write explains.",
    mend: "Run `gw audit verify`, keep the folder as evidence, and start with a new one.",
  },
  log_rolled_back: {
    status: 503,
    means: "The log ends before the head that this operator saw, or differs from it.",
    mend: "Find out who cut or replaced it: gw audit verify. If the newest log is lost: gw restore.",
  },
  archive_refused: {
    status: 409,
    means:
      "No segment of the log was moved away: none is old enough, the log is not intact, or the copy is not the log.",
    mend: "The message says which; nothing was removed.",
  },
  log_event_too_large: {
    status: 500,
    means: "An event is larger than the audit log takes.",
    mend: "Send less in one call; records hold digests, not bodies.",
  },
  log_recipients_invalid: {
    status: 503,
    means: "The audit log was opened without a valid reader's key or state of the vault.",
    mend: "Check the audit recipients in the signed policy.",
  },
  log_attestation_refused: {
    status: 409,
    means:
      "What an operator signed, or was offered to sign, is not the log that this gateway wrote, or the signature is wrong.",
    mend: "Connect again, so that the client signs for the live log. Said again, find out who answers at the operator socket.",
  },
  log_unreadable: {
    status: 403,
    means: "The key does not open the audit log, or a part of it.",
    mend: "Use the keys of an operator who could read when it was written, or have one of them run: gw audit share NAME.",
  },
  // The hub: a database that joins gateways and is trusted with nothing but being there
  hub_unreachable: {
    status: 503,
    means: "The hub's database does not answer.",
    mend: "Look at the database and the network. The gateway tries again by itself, and nothing is lost meanwhile. Who waits for it although they should not: gw hub set --log behind.",
  },
  hub_unknown: {
    status: 409,
    means: "The database holds no hub, another one, or one of a version that this gw does not know.",
    mend: "Make one with gw hub init URL as its owner, or use the gw of the version that made it.",
  },
  hub_refused: {
    status: 403,
    means: "The hub's database refused the login, or what was asked with it.",
    mend: "Check user and password; a gateway's login is a member of gw_gateway, an operator's of gw_operator.",
  },
  hub_name_taken: {
    status: 409,
    means: "Another gateway joined the hub under this name.",
    mend: "Choose another with --name.",
  },
  hub_joined: {
    status: 409,
    means: "This gateway belongs to a hub already, under another name or to another hub.",
    mend: "Leave that one first: gw hub leave.",
  },
  hub_not_joined: {
    status: 409,
    means: "This gateway belongs to no hub.",
    mend: "Join one with gw hub join URL.",
  },
  hub_rolled_back: {
    status: 503,
    means: "The hub shows less than this gateway wrote there: it was restored, failed over with a loss, or cut.",
    mend: "Find out what happened to the database. Then sign that you know: gw hub join URL, with the same name.",
  },
  hub_forked: {
    status: 503,
    means:
      "The hub holds another continuation of this gateway's log: a copy of this host wrote there, or this home was restored.",
    mend: "Stop the copy. A restored home joins under another name: gw hub leave, then gw hub join URL --name NAME.",
  },
  hub_document_invalid: {
    status: 503,
    means: "What stands on the hub as a vault, a policy or a pack is not what an operator of this vault signed.",
    mend: "Nothing of it is followed. Find out who writes to the database, or owns the host that it names.",
  },
  hub_document_forked: {
    status: 503,
    means: "Two hosts hold different vaults or policies of one generation: two operators signed at one moment.",
    mend: "Sign the change once more on the host that is not told of this; all follow what is newer.",
  },
  hub_document_gone: {
    status: 503,
    means: "A vault or policy that was on the hub, or that another gateway follows, is not shown there.",
    mend: "Find out what happened to the database. A host that has it puts it back by itself.",
  },
  unlock_request_over: {
    status: 409,
    means:
      "A key that was handed over by way of a hub was for another request of a locked gateway than the one that waits.",
    mend: "Say gw unlock --hub once more: it takes the request that waits now.",
  },
  hub_pack_gone: {
    status: 503,
    means: "A pack that signed policy trusts is neither on this host nor on the hub from a gateway of the vault.",
    mend: "See that a host that has it is up and reaches the hub, or add it here: gw pack add FILE",
  },
  gateway_behind: {
    status: 409,
    means: "Whoever decided or unlocked, or another gateway on the hub, knows a newer vault or policy than this one.",
    mend: "See gw status on that host: unlocked, it follows as soon as the hub shows the newer files. Else copy vault.json and policy.json there.",
  },
  policy_moved_on: {
    status: 409,
    means: "Another policy was signed after the one that this change was made from. Nothing was changed.",
    mend: "Say it once more: it is made from the newest one then.",
  },
  credential_elsewhere: {
    status: 403,
    means: "This credential is sealed to other gateways than the one that was asked for it.",
    mend: "Make the call on one of those hosts, or sign it for this one: gw credential lend LABEL --gateway NAME.",
  },
  fleet_limit_reached: {
    status: 403,
    means: "All gateways of the hub together did as much today as a signed limit lets them.",
    mend: "Wait for the next day (UTC), or ask an operator: gw hub limit.",
  },
  hub_limit_tampered: {
    status: 503,
    means: "What the hub shows of a limit was not written by its gateways, or not all of it is shown.",
    mend: "Find out who changed the database. Until the next day (UTC) nothing is sent that the limit counts.",
  },
  hub_turn_tampered: {
    status: 503,
    means:
      "What the hub shows of a refresh token that gateways share was not written by one that may lend it, or is about a secret of a time to come.",
    mend: "See that the clocks are right, and find out who changed the database. Then agree once more: gw credential login LABEL, or gw credential rotate LABEL.",
  },
  hub_state_tampered: {
    status: 503,
    means:
      "What the hub shows of a gateway's operations was not written by it, is not all of it, or is nothing that a gateway of this version writes.",
    mend: "Find out who changed the database or owns that host; where a newer gw runs there, upgrade this one. Nothing was taken over; look at the providers for what that gateway had under way.",
  },
  hub_gateway_alive: {
    status: 409,
    means: "The gateway whose operations were to be taken over still speaks, or took its own up again.",
    mend: "Wait until gw status calls it silent, or stop it first.",
  },
  hub_clock_off: {
    status: 503,
    means: "The clocks of this host and of the hub's database are too far apart to agree on the day.",
    mend: "Set the wrong one right; nothing is sent meanwhile that a limit of the fleet counts.",
  },
  hub_log_gone: {
    status: 503,
    means: "Parts of the log that the hub does not have yet were moved away.",
    mend: "Bring the archived segments back into the log's folder; they go up by themselves. Then archive them again.",
  },
  // Providers: the reference provider and what its clients meet
  token_missing: {
    status: 401,
    means: "The request carries no bearer token.",
    mend: "Send Authorization: Bearer and an access token, once.",
  },
  token_invalid: {
    status: 401,
    means: "The bearer token is malformed, or nobody known signed it.",
    mend: "Get a token from the provider's issuer.",
  },
  token_issuer_wrong: {
    status: 401,
    means: "The token comes from another issuer.",
    mend: "Get a token from the issuer that this provider trusts.",
  },
  token_audience_wrong: {
    status: 401,
    means: "The token was issued for another recipient.",
    mend: "Ask for a token with this provider as its audience.",
  },
  token_expired: { status: 401, means: "The token is past its expiry.", mend: "Get a new token." },
  token_revoked: {
    status: 401,
    means: "The token was revoked.",
    mend: "Get a new token, if whoever revoked it agrees.",
  },
  insufficient_scope: {
    status: 403,
    means: "The token does not carry the scope that this operation needs.",
    mend: "Ask for a token with that scope; no other route does the same.",
  },
  project_forbidden: {
    status: 403,
    means: "The principal has no access to this project.",
    mend: "Ask somebody who administers the project.",
  },
  record_inactive: {
    status: 409,
    means: "The record is inactive.",
    mend: "Choose an active one, or have it activated.",
  },
  release_unknown: {
    status: 422,
    means: "No release has this digest.",
    mend: "Record the release first; a tag is not a release.",
  },
  capability_missing: {
    status: 403,
    means: "Nothing gives this principal authority over this deployment on this route.",
    mend: "A deployment of another actor needs an authority of its own, issued by a person.",
  },
  capability_ended: {
    status: 403,
    means: "The authority over this deployment has expired or was revoked.",
    mend: "Ask for a new decision.",
  },
  stale_rollback: {
    status: 409,
    means: "The target is no longer what the rollback expects. Nothing changed.",
    mend: "Stop, attach this answer to the incident, and ask for a new decision.",
  },
  precondition_failed: {
    status: 412,
    means: "The entity tag in If-Match is not the current one. Nothing changed.",
    mend: "Read the resource again and decide anew.",
  },
  precondition_required: {
    status: 428,
    means: "The write must say which state it was decided on.",
    mend: "Read the resource and send its entity tag in If-Match.",
  },
  version_conflict: {
    status: 409,
    means: "The revision that was read is not the current one.",
    mend: "Fetch the current resource and create a new preview.",
  },
  legal_hold_active: {
    status: 409,
    means: "A legal hold blocks the change.",
    mend: "None that a program could make: whoever placed the hold decides.",
  },
  member_count_change: {
    status: 200,
    means: "A warning in a preview: the number of members changes.",
    mend: "Check that the change of seats is meant.",
  },
  plan_stale: {
    status: 409,
    means: "The plan cannot be shown to be what was previewed: it expired, or an input changed. Nothing was done.",
    mend: "Create a new preview.",
  },
  plan_used: {
    status: 409,
    means: "The plan was executed before. A plan is used once.",
    mend: "Read the resource; create a new preview for another change.",
  },
  idempotency_key_missing: {
    status: 400,
    means: "The route needs an Idempotency-Key, and none or a malformed one came.",
    mend: "Send one Idempotency-Key: a fresh UUID for a new intent, the same one for a repeat.",
  },
  idempotency_key_reused: {
    status: 422,
    means: "The Idempotency-Key was used with another payload.",
    mend: "Repeat the original payload, or use a fresh key for a new intent.",
  },
  idempotency_in_flight: {
    status: 409,
    means: "A request with this Idempotency-Key is still being worked on.",
    mend: "Wait and repeat it, or read the operation's status.",
  },
  idempotency_key_retired: {
    status: 409,
    means: "The Idempotency-Key is past its retention; its result is gone, and it cannot be used again.",
    mend: "Read the state of what it made; use a fresh key for a new intent.",
  },
  job_not_resumable: {
    status: 409,
    means: "The job has not failed, so that there is nothing to resume.",
    mend: "Read its status and act on what it says.",
  },
  cursor_invalid: {
    status: 400,
    means: "The cursor was not issued for this list, principal, filter and order.",
    mend: "Start again without a cursor, or repeat the query that the cursor came from.",
  },
  rate_limited: {
    status: 429,
    means: "The provider asks for fewer requests.",
    mend: "Wait as long as Retry-After says, and longer where it is absent.",
  },
  version_unknown: {
    status: 400,
    means: "X-API-Version names no version of this API.",
    mend: "Send a version that the API's document lists.",
  },
  // Plans, rollbacks and operations of the gateway
  plan_required: {
    status: 422,
    means: "The action executes a plan and cannot be called without one. Nothing was sent.",
    mend: "Preview it first (POST /v1/runs/{run_id}/plans, or gw plan), then execute that plan.",
  },
  plan_not_executable: {
    status: 409,
    means: "The preview says that the same input would not execute.",
    mend: "Read the validation of the preview, mend what it names, and create a new preview.",
  },
  preview_invalid: {
    status: 502,
    means: "The provider's answer is not a preview, so that nothing is known of what execution would do.",
    mend: "Do not execute. Ask a person to look at the provider, and at whether something was changed already.",
  },
  preview_too_large: {
    status: 502,
    means: "The preview is larger than what a person can be shown on one card.",
    mend: "Ask for a smaller change; a provider answers a total and a sample for large sets.",
  },
  deployment_unknown: {
    status: 404,
    means:
      "No deployment of this name was made through this gateway, so that there is no stored record to undo it from.",
    mend: "Roll back what was promoted through the gateway; anything else is a person's decision at the provider.",
  },
  rollback_impossible: {
    status: 409,
    means: "The stored record names no release before this one.",
    mend: "Ask a person how to repair the environment; there is nothing to go back to.",
  },
  operation_not_cancellable: {
    status: 409,
    means: "The operation has ended, has no job at the provider yet, or its definition has no way to cancel.",
    mend: "Read the operation; where the creation is unknown, reconcile it first.",
  },
  operation_not_resumable: {
    status: 409,
    means: "The operation has not failed, never became a job, is being resumed, or its provider documents no resume.",
    mend: "Read the operation. Where it failed for good, ask a person before anything is started anew.",
  },
  operation_taken_over: {
    status: 409,
    means: "Another gateway on the same store looks after this operation now. Nothing was sent or written.",
    mend: "Read the operation again a minute later; whoever looks after it writes how it goes on.",
  },
  errand_over: {
    status: 409,
    means:
      "A word that an operator signed for an operation was taken before, or is too old. Nothing was done by it now.",
    mend: "Look at the operation, and say it again where it is still wanted: each is signed for one time.",
  },
  operation_settled: {
    status: 409,
    means: "The operation has ended; there is nothing left to find out.",
    mend: "Read the operation for its end.",
  },
  outcome_unsettled: {
    status: 409,
    means:
      "The same call is open: it may have happened, or is being sent right now. It is named in this answer, and nothing was sent.",
    mend: "Wait for the open one, or reconcile it. A person settles it with gw operation settle; repeat_of asks them for a second one.",
  },
  operation_evidence_pending: {
    status: 409,
    means:
      "The gateway still looks by itself how this operation ended, is sending it right now, or was asked by its provider to wait.",
    mend: "Wait. A person can read what was sent with gw operation reconcile, or decide all the same: --although says why.",
  },
  operation_not_reconcilable: {
    status: 409,
    means: "The definition names no read that could tell what happened.",
    mend: "Look at the provider, then say what happened: gw operation settle ID --happened YES_OR_NO --reason TEXT.",
  },
  poll_allowance_exhausted: {
    status: 403,
    means: "The operation has used up its reads. Its last known state and remote id are in this answer.",
    mend: "Report both; a person can read it once more with gw operation reconcile.",
  },
  operation_needs_person: {
    status: 409,
    means:
      "Automation stopped for this operation: what is known contradicts itself, or going on is a person's decision.",
    mend: "Show its record to a person; gw operation reconcile reads it once more. Nothing is sent again for it.",
  },
  definition_changed: {
    status: 409,
    means: "The pack that started this is no longer trusted or was changed, so that nothing more is sent for it.",
    mend: "Ask a person to trust the pack again, or to look at the provider.",
  },
  // Tickets
  ticket_required: {
    status: 403,
    means:
      "The action needs a signed work context, and none can be assigned to it as it is called. A reference from the agent is none.",
    mend: "Ask an operator to attach one: gw ticket issue RUN --ref SYSTEM:REF --target … --operation …",
  },
  ticket_signature_invalid: {
    status: 403,
    means: "The work context is not signed by an operator of this vault or a configured issuer, or it was changed.",
    mend: "Issue a new one; one whose issuer was removed counts no longer.",
  },
  ticket_invalid: {
    status: 422,
    means: "The work context is signed, and what it says is not a work context.",
    mend: "Have the issuer write the members that docs/tickets.md lists.",
  },
  ticket_wrong_run: {
    status: 403,
    means: "The work context was issued for another run.",
    mend: "Issue one for this run. A context is never carried over.",
  },
  ticket_expired: {
    status: 403,
    means: "The work context has expired.",
    mend: "Ask an operator to issue a new one for this run.",
  },
  ticket_outlives_run: {
    status: 422,
    means: "The work context would be good for longer than the run it was issued for.",
    mend: "Issue it with an expiry no later than the run's deadline.",
  },
  ticket_scope_mismatch: {
    status: 403,
    means: "The work context covers other operations or other targets than this call.",
    mend: "Do only what the ticket covers, or ask an operator to issue one for this operation and target.",
  },
  ticket_unconfirmed: {
    status: 403,
    means:
      "The ticket service that policy names did not confirm the ticket: no good answer, one about another ticket, or too old a one.",
    mend: "See that the service answers for this reference; nothing is sent on an unconfirmed ticket.",
  },
  ticket_not_open: {
    status: 403,
    means: "The ticket service says that the ticket is in a state which policy does not count as open.",
    mend: "Bring the ticket into an open state, or have another one assigned.",
  },
  ticket_service_invalid: {
    status: 422,
    means: "What was given for a ticket service cannot be used.",
    mend: "Name a read of a pack in this home, its input and the fields of its answer; docs/tickets.md shows how.",
  },
  approval_needs_ticket: {
    status: 422,
    means: "The card says that a ticket is needed, and the approval names none. Nothing was decided.",
    mend: "Approve it with the ticket's reference, gw approve ID --ticket SYSTEM:REF, or deny it.",
  },
  ticket_issuer_invalid: {
    status: 422,
    means: "The name or the key given for a ticket issuer cannot be used.",
    mend: "Give a name of its own and an Ed25519 public key; docs/tickets.md shows how.",
  },
  // Lists: why a walk stopped. None of these is an answer of its own; they stand as `stop_reason` in a discovery report
  page_ceiling: {
    status: 200,
    means: "The list was read up to the most pages that its definition allows.",
    mend: "Narrow the query. A larger page is no way around it: page size controls cost, not completeness.",
  },
  record_ceiling: {
    status: 200,
    means: "The list was read up to the most records that its definition allows.",
    mend: "Narrow the query; what was not looked at stands in the report.",
  },
  size_ceiling: {
    status: 200,
    means: "The pages of the list together reached the most bytes that are collected.",
    mend: "Narrow the query, or have the definition select fewer fields.",
  },
  cursor_repeated: {
    status: 200,
    means: "The provider gave a cursor that it had given before, so that the list would never end.",
    mend: "Report it to the provider. What was read may hold records twice and lack others.",
  },
  page_malformed: {
    status: 200,
    means: "An answer is not a page of a list as the definition describes it.",
    mend: "Compare the answer with the definition's pages.items.",
  },
  continuation_malformed: {
    status: 200,
    means: "The cursor or Link header that should lead to the next page cannot be read.",
    mend: "Report it to the provider; the pages before it stand.",
  },
  continuation_foreign: {
    status: 200,
    means: "The next page is said to be at another origin or path. It was not followed.",
    mend: "Report it: a list does not move. Nothing was sent there.",
  },
  continuation_undocumented: {
    status: 200,
    means: "The next page is said to be reached in a way that the definition does not describe.",
    mend: "Have the definition reviewed; the pages before it stand.",
  },
  // The gateway itself
  internal_fault: {
    status: 500,
    means: "The server that answered failed in a way it did not foresee, and went no further.",
    mend: "Look at that server's own messages, of the gateway or of an API that uses its package; the correlation id is in both places.",
  },
} as const satisfies Record<string, CodeEntry>;

export type Code = keyof typeof codes;

export function statusOf(code: Code): number {
  return codes[code].status;
}
