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
