import { showIdentifier } from "../../kernel/display.ts";

export interface Limits {
  readonly attempts: number;
  readonly side_effects: number;
  readonly duration_seconds: number;
  readonly spend_cents: number;
}

/** What was typed about the arguments of an action, a condition to a line. */
export type Conditions = Readonly<Record<string, string>>;

/** Less than the card asks for. */
export function Narrow(props: {
  readonly all: readonly string[];
  readonly chosen: readonly string[] | null;
  readonly onChoose: (actions: readonly string[]) => void;
  readonly where: Conditions;
  readonly onWhere: (where: Conditions) => void;
  /** Null where the budget is not this card's to change. */
  readonly most: Limits | null;
  readonly budget: Limits;
  readonly onBudget: (budget: Limits) => void;
}) {
  const { all, chosen, onChoose, where, onWhere, most, budget, onBudget } = props;
  const kept = chosen ?? all;
  const limits: readonly (readonly [keyof Limits, string])[] = [
    ["attempts", "Attempts"],
    ["side_effects", "Side effects"],
    ["duration_seconds", "Seconds"],
    ["spend_cents", "Cents"],
  ];
  return (
    <div class="narrowing">
      <fieldset>
        <legend>Actions</legend>
        {all.map((action) => (
          <div key={action} class="kept">
            <label>
              <input
                type="checkbox"
                checked={kept.includes(action)}
                onChange={({ currentTarget }) =>
                  onChoose(currentTarget.checked ? [...kept, action] : kept.filter((one) => one !== action))
                }
              />
              <code>{showIdentifier(action)}</code>
            </label>
            {kept.includes(action) && (
              <label class="where">
                <span>only where</span>
                <textarea
                  rows={1}
                  maxLength={1_200}
                  spellcheck={false}
                  autocomplete="off"
                  aria-label={`${showIdentifier(action)} only where`}
                  placeholder="any arguments"
                  value={where[action] ?? ""}
                  onInput={({ currentTarget }) => onWhere({ ...where, [action]: currentTarget.value })}
                />
              </label>
            )}
          </div>
        ))}
        <p class="muted">
          A condition to a line: <code>name=value</code>, <code>name in a,b</code>, <code>path^=docs/</code>,{" "}
          <code>count&lt;=10</code>. A call whose arguments are others is refused.
        </p>
      </fieldset>
      {most !== null && (
        <fieldset>
          <legend>Budget</legend>
          {limits
            .filter(([name]) => most[name] > 0)
            .map(([name, label]) => (
              <label key={name} class="slider">
                <span>{label}</span>
                <input
                  type="range"
                  min={0}
                  max={most[name]}
                  value={budget[name]}
                  onInput={({ currentTarget }) => onBudget({ ...budget, [name]: Number(currentTarget.value) })}
                />
                <output>
                  {budget[name]} <span class="muted">of {most[name]}</span>
                </output>
              </label>
            ))}
        </fieldset>
      )}
    </div>
  );
}

/** As the program takes it: whatever stands on a line of its own. */
export function conditionsOf(where: Conditions): readonly { readonly action: string; readonly text: string }[] {
  return Object.entries(where).flatMap(([action, typed]) =>
    typed
      .split("\n")
      .filter((line) => line.trim() !== "")
      .map((text) => ({ action, text })),
  );
}
