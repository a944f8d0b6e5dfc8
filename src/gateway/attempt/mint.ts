import type { NewEvent } from "../../audit/event.ts";
import { hideSecrets } from "../../conventions/outcome/hide-secrets.ts";
import { type Minted, takeMinted } from "../../conventions/outcome/minted.ts";
import type { TransportObservation } from "../../conventions/outcome/observation.ts";
import { isoTime } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import type { StateRow } from "../ports.ts";
import { links } from "./events.ts";
import type { AttemptNeeds } from "./needs.ts";
import { readJson } from "./read-json.ts";
import type { Beside, CustodySending, Sending } from "./sending.ts";

/** The state of a row that holds a secret which an answer brought, until an operator takes it over into the vault. */
export const MINTED = "minted";

/**
 * Takes new secrets out of an answer before anything else looks at it. They are kept in rows that only the vault's own key
 * opens; the agent sees under which name. An answer in which they cannot be found is withheld as a whole.
 */
export function withholdMinted(
  core: Pick<AttemptNeeds, "envelope" | "ports">,
  sending: Sending | CustodySending,
  attemptId: string,
  observation: TransportObservation,
): Beside & { readonly observation: TransportObservation } {
  const { action } = sending.outbound.definition;
  const untouched = { observation, events: [], rows: [] };
  if (action.mints.length === 0 || observation.kind !== "answered" || observation.body.byteLength === 0)
    return untouched;
  const answer = readJson(observation);
  if (answer === null)
    return { ...untouched, observation: { ...observation, body: EMPTY, withheld: "mint_unreadable" } };
  const nameOf = (pointer: string): string => `${attemptId}.${action.mints.indexOf(pointer) + 1}`;
  const { body, minted } = takeMinted(answer, action.mints, (pointer) => `minted secret ${nameOf(pointer)}`);
  const events: NewEvent[] = [];
  const rows: StateRow[] = [];
  for (const { pointer, secret } of minted) {
    const minted_id = nameOf(pointer);
    const about = { action: action.qualifiedName, pointer, minted_id };
    events.push({ ...core.envelope("secret_minted"), run_id: sending.run.id, ...links(sending, attemptId), ...about });
    const at = isoTime(core.ports.clock.wallMs());
    const row = { table: "notes", id: `${MINTED} ${minted_id}`, runId: sending.run.id, state: MINTED } as const;
    rows.push({ ...row, body: { ...about, at, credential: sending.credential, secret } });
  }
  const texts = [...new Set(minted.flatMap((one) => one.texts))];
  if (texts.length > defaults.mintedTexts || minted.some(isLarge))
    return { observation: { ...observation, headers: {}, body: EMPTY, withheld: "mint_too_large" }, events, rows };
  const rest = { headers: observation.headers, body: Buffer.from(JSON.stringify(body), "utf8") };
  const { withheld, ...content } = hideSecrets(rest, texts);
  // A success without a member that holds a secret may hold it elsewhere: nobody sees any of it.
  const { status } = observation;
  if (minted.length < action.mints.length && status >= 200 && status < 300)
    return { observation: { ...observation, ...content, body: EMPTY, withheld: "mint_missing" }, events, rows };
  return { observation: { ...observation, ...content, ...(withheld ? REPEATED : {}) }, events, rows };
}

/** The vault takes none of that size. */
function isLarge({ secret }: Minted): boolean {
  return Buffer.byteLength(secret, "utf8") > defaults.secretBytes;
}

/** Another gateway has it too, since it took this one's work over. */
export const isAlsoElsewhere = ({ body }: Pick<StateRow, "body">): boolean => typeof body["taken_by"] === "string";

const EMPTY = Buffer.alloc(0);
const REPEATED = { withheld: "mint_repeated" } as const;
