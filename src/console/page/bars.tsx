/** One bar: what it stands for, and its parts in the order of the chart's kinds. */
export interface Bar {
  /** Tells it from the others, where two are called the same. */
  readonly id: string;
  readonly label: string;
  readonly parts: readonly number[];
}

interface Props {
  readonly title: string;
  readonly unit: string;
  /** What each part is called, and its colour. */
  readonly kinds: readonly (readonly [name: string, colour: string])[];
  readonly bars: readonly Bar[];
  /** What a full bar stands for; the largest of them where it is not given. */
  readonly most?: number;
  /** Lying bars with their names, for things that are no days. */
  readonly named?: boolean;
  readonly note?: string;
}

const WIDE = 600;
const HIGH = 140;
const ROW = 26;

/** A picture for the eye, and its table for everybody: the picture says nothing that the table does not. */
export function BarChart(props: Props) {
  const { title, unit, kinds, bars, note } = props;
  const totals = bars.map(({ parts }) => parts.reduce((sum, one) => sum + one, 0));
  const all = totals.reduce((sum, one) => sum + one, 0);
  const most = props.most ?? Math.max(1, ...totals);
  return (
    <figure class="chart">
      <figcaption>
        <h3>{title}</h3>
        <span class="legend" aria-hidden="true">
          {kinds.length > 1 &&
            kinds.map(([name, colour]) => (
              <span key={name}>
                <i class={`swatch ${colour}`} /> {name}
              </span>
            ))}
        </span>
      </figcaption>
      {all === 0 ? (
        <p class="muted">Nothing in this time.</p>
      ) : props.named === true ? (
        <Lying {...props} most={most} />
      ) : (
        <Standing {...props} most={most} />
      )}
      {note !== undefined && <p class="muted">{note}</p>}
      {all > 0 && (
        <details>
          <summary>As a table</summary>
          <div class="wide-table">
            <table class="table">
              <thead>
                <tr>
                  <th scope="col">{props.named === true ? "What" : "Day"}</th>
                  {kinds.map(([name]) => (
                    <th key={name} scope="col">
                      {name}, {unit}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {bars
                  .filter((_, index) => (totals[index] ?? 0) > 0)
                  .map(({ id, label, parts }) => (
                    <tr key={id}>
                      <th scope="row">{label}</th>
                      {parts.map((value, index) => (
                        <td key={kinds[index]?.[0]}>{value.toLocaleString()}</td>
                      ))}
                    </tr>
                  ))}
              </tbody>
            </table>
          </div>
        </details>
      )}
    </figure>
  );
}

type Drawn = Props & { readonly most: number };

function Standing({ bars, kinds, most, unit }: Drawn) {
  const step = WIDE / bars.length;
  return (
    <>
      <div class="axis" aria-hidden="true">
        {most.toLocaleString()} {most === 1 ? unit.replace(/s$/, "") : unit}
      </div>
      <svg viewBox={`0 0 ${WIDE} ${HIGH}`} preserveAspectRatio="none" class="standing" aria-hidden="true">
        <path class="grid" d={`M0 0.5H${WIDE}M0 ${HIGH / 2}H${WIDE}M0 ${HIGH - 0.5}H${WIDE}`} />
        {bars.flatMap(({ id, parts }, index) => {
          let top = HIGH;
          return parts.map((value, part) => {
            const height = (value / most) * HIGH;
            top -= height;
            const [name, colour] = kinds[part] ?? ["", ""];
            return (
              <rect
                key={`${id} ${name}`}
                class={colour}
                x={index * step + step * 0.15}
                y={top}
                width={step * 0.7}
                height={height}
              />
            );
          });
        })}
      </svg>
      <div class="axis ends" aria-hidden="true">
        <span>{bars[0]?.label}</span>
        <span>{bars.at(-1)?.label}</span>
      </div>
    </>
  );
}

function Lying({ bars, most, unit, kinds }: Drawn) {
  return (
    <ul class="lying" aria-hidden="true">
      {bars.map(({ id, label, parts: [value = 0] }) => (
        <li key={id}>
          <span class="name">{label}</span>
          <svg viewBox={`0 0 100 ${ROW}`} preserveAspectRatio="none" aria-hidden="true">
            <rect class="grid-fill" y={ROW / 4} width="100" height={ROW / 2} />
            <rect class={kinds[0]?.[1]} y={ROW / 4} width={Math.min(100, (value / most) * 100)} height={ROW / 2} />
          </svg>
          <span class="value">
            {value.toLocaleString()} {unit.startsWith("%") ? "%" : ""}
          </span>
        </li>
      ))}
    </ul>
  );
}
