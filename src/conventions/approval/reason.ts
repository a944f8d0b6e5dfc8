/** Why one call needs a person although its session was approved. The words stand on the card. */
export interface ReasonToAsk {
  readonly kind:
    | "each_use_credential"
    | "each_use_action"
    | "previewless"
    | "purchase"
    | "uncapped_cost"
    | "unapproved_spend"
    /** It carries out what a preview showed. */
    | "plan"
    /** Of this very moment: no decision made ahead can cover it. */
    | "other";
  readonly words: string;
}

type Standing = Exclude<ReasonToAsk["kind"], "other">;

const WORDS: Readonly<Record<Standing, string>> = {
  each_use_credential: "its credential is marked for approval on every use",
  each_use_action: "its definition asks on every use",
  previewless: "its provider has no preview: nobody can say beforehand what it changes",
  purchase: "it places an order",
  uncapped_cost: "it may cost money and has no cost ceiling",
  unapproved_spend: "it costs money, and no person has approved what this run may spend",
  plan: "it carries out a plan",
};

export function reasonOf(kind: Standing): ReasonToAsk {
  return { kind, words: WORDS[kind] };
}

/** From the words on a card back to the reason; `other` for what no decision made ahead covers. */
export function readReason(words: string): ReasonToAsk["kind"] {
  return (Object.keys(WORDS) as Standing[]).find((kind) => WORDS[kind] === words) ?? "other";
}
