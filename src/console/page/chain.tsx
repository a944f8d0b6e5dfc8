import type { VerifyReport } from "../../audit/verify/report.ts";
import { showText } from "../../kernel/display.ts";
import { Chip, Time } from "./parts.tsx";

const WIDTH = 1000;

const BEGAN = { genesis: "the log's beginning", boot: "a start", crash: "a start after an unclean end" } as const;

/** The chain from its first frame to its last: each start of the gateway, its end, who attested it, and how far seals reach. */
export function Chain({ report }: { readonly report: VerifyReport }) {
  const { eras, attestations, uncleanEnds, sealed } = report;
  const first = report.begins.frame;
  const last = Math.max(first + 1, report.head?.frame ?? 0, ...eras.map(({ lastFrame }) => lastFrame));
  const at = (frame: number): number => ((frame - first) / (last - first + 1)) * WIDTH;
  if (eras.length === 0) return null;
  return (
    <figure class="chain">
      <svg viewBox={`0 0 ${WIDTH} 56`} preserveAspectRatio="none" aria-hidden="true">
        {eras.map((era, index) => (
          <rect
            key={era.firstFrame}
            class={index % 2 === 0 ? "era" : "era other"}
            x={at(era.firstFrame)}
            y={16}
            width={Math.max(2, at(era.lastFrame + 1) - at(era.firstFrame) - 1)}
            height={24}
          />
        ))}
        {sealed !== null && <rect class="sealed" x={0} y={42} width={at(sealed.frame + 1)} height={4} />}
        {attestations.map(({ frame }) => (
          <rect key={frame} class="attested" x={at(frame)} y={2} width={3} height={12} />
        ))}
        {uncleanEnds.map(({ lastFrame }) => (
          <rect key={lastFrame} class="unclean" x={at(lastFrame + 1) - 2} y={10} width={4} height={36} />
        ))}
      </svg>
      <figcaption class="muted">
        {eras.length} {eras.length === 1 ? "start" : "starts"} of the gateway, {attestations.length} attestations above,{" "}
        {uncleanEnds.length} unclean ends in red; the line below is what seals hold.
      </figcaption>
      <details>
        <summary>The same as a table</summary>
        <div class="wide-table">
          <table class="table">
            <thead>
              <tr>
                <th scope="col">Began as</th>
                <th scope="col">Frames</th>
                <th scope="col">Segments</th>
                <th scope="col">Attested by</th>
                <th scope="col">End</th>
              </tr>
            </thead>
            <tbody>
              {eras.map((era) => (
                <tr key={era.firstFrame}>
                  <th scope="row">{BEGAN[era.reason]}</th>
                  <td>
                    {era.firstFrame}–{era.lastFrame}
                  </td>
                  <td>
                    {era.firstSegment === era.lastSegment ? era.firstSegment : `${era.firstSegment}–${era.lastSegment}`}
                  </td>
                  <td>{era.attestedBy.length === 0 ? "nobody yet" : era.attestedBy.map(showText).join(", ")}</td>
                  <td>
                    {uncleanEnds.some(({ segment }) => segment === era.lastSegment) ? (
                      <Chip kind="grave">unclean</Chip>
                    ) : (
                      "clean, or still open"
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
        <ul class="plain-list">
          {attestations.slice(-20).map(({ frame, operator, timeSeconds, headFrame }) => (
            <li key={frame}>
              frame {frame}: {showText(operator)} attested up to {headFrame},{" "}
              <Time at={new Date(timeSeconds * 1000).toISOString()} />
            </li>
          ))}
        </ul>
      </details>
    </figure>
  );
}
