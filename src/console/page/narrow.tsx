import { showIdentifier } from "../../kernel/display.ts";

export interface Limits {
  readonly attempts: number;
  readonly side_effects: number;
  readonly duration_seconds: number;
  readonly spend_cents: number;
}

/** Less than the card asks for. */
export function Narrow(props: {
  readonly all: readonly string[];
  readonly chosen: readonly string[] | null;
  readonly onChoose: (actions: readonly string[]) => void;
  readonly most: Limits;
  readonly budget: Limits;
  readonly onBudget: (budget: Limits) => void;
}) {
  const { all, chosen, onChoose, most, budget, onBudget } = props;
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
          <label key={action}>
            <input
              type="checkbox"
              checked={kept.includes(action)}
              onChange={({ currentTarget }) =>
                onChoose(currentTarget.checked ? [...kept, action] : kept.filter((one) => one !== action))
              }
            />
            <code>{showIdentifier(action)}</code>
          </label>
        ))}
      </fieldset>
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
    </div>
  );
}
