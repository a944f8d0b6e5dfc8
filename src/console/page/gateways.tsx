import { useEffect, useState } from "preact/hooks";
import { showIdentifier } from "../../kernel/display.ts";
import type { ShownGateway } from "../../surfaces/cli/hub/fleet.ts";
import { ask } from "./api.ts";
import { Chip, Problem } from "./parts.tsx";

const AGAIN_MS = 5_000;

/** All gateways of the vault: when each was heard last, and which follow older files than the others. */
export function Gateways({ url }: { readonly url: string }) {
  const [all, setAll] = useState<readonly ShownGateway[] | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    const load = (): void =>
      void ask("GET", "/api/gateways").then(
        (found) => {
          setAll((found as { readonly gateways: readonly ShownGateway[] }).gateways);
          setProblem(null);
        },
        (error: unknown) => setProblem(error instanceof Error ? error.message : String(error)),
      );
    load();
    const timer = setInterval(load, AGAIN_MS);
    return () => clearInterval(timer);
  }, []);
  return (
    <section aria-labelledby="gateways">
      <h2 id="gateways">Gateways</h2>
      <p class="muted">
        As the hub shows them. Sessions and operations below are what each showed last. What a host that died had under
        way is taken over on another one: <code>gw operation adopt NAME</code>.
      </p>
      <Problem text={problem} />
      <ul class="plain-list gateways">
        {(all ?? []).map((one) => (
          <li key={one.gateway}>
            <b>{showIdentifier(one.gateway)}</b> <Standing one={one} url={url} />{" "}
            {one.signed && one.tick !== null && (
              <span class="muted">
                log to frame {one.frame}, vault {one.vault}, policy {one.policy}
              </span>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Standing({ one, url }: { readonly one: ShownGateway; readonly url: string }) {
  if (!one.signed) return <Chip kind="grave">not signed: what stands there is not from it</Chip>;
  if (one.tick === null) return <Chip kind="plain">has joined, and said nothing yet</Chip>;
  const { behind, waiting, silent_s: seconds } = one;
  return (
    <>
      <Chip kind={one.silent ? "grave" : "good"}>
        {one.silent ? `silent for ${seconds} s` : `seen ${seconds ?? 0} s ago`}
      </Chip>
      {behind !== null && (
        <Chip kind="acts">
          behind: others follow vault {behind.vault}, policy {behind.policy}
        </Chip>
      )}
      {waiting !== null && <Chip kind="acts">{waitingWords(one.gateway, waiting, url)}</Chip>}
    </>
  );
}

function waitingWords(gateway: string, waiting: string, url: string): string {
  if (waiting === "waits") return `locked, and waits: gw unlock ${showIdentifier(gateway)} --hub ${url}`;
  if (waiting === "unknown_key")
    return "asks to be unlocked with a key that policy.json on the console's machine does not name: copy it there anew";
  return `locked; would be refused: ${waiting}`;
}
