import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { findBarriers, type Sight, shoot } from "./browser.ts";
import { type Home, type Started, until } from "./home.ts";
import { isSampled } from "./whole.ts";

/** The real `gw console` of a home, and the links that it prints. */
export interface Console {
  readonly program: Started;
  readonly port: number;
  readonly origin: string;
  /** The newest link that was not given out yet. */
  nextLink(): Promise<string>;
}

export function startConsole(
  home: Home,
  port: number,
  more: readonly string[] = [],
  origin = `http://gw.localhost:${port}`,
): Console {
  const words = ["console", "--port", String(port), "--passphrase-file", home.passphraseFile, ...more];
  return linksOf(home.start(words), port, origin);
}

/** A console that somebody started. */
export function linksOf(program: Started, port: number, origin = `http://gw.localhost:${port}`): Console {
  let links = 0;
  return {
    program,
    port,
    origin,
    nextLink: () =>
      until("a link is printed", () => {
        const found = [...program.out().matchAll(/https?:\S+#[A-Za-z0-9_-]{43}/g)].map(([link]) => link);
        if (program.child.exitCode !== null) assert.fail(`gw console ended: ${program.err()}`);
        if (found.length <= links) return false;
        links = found.length;
        return found.at(-1);
      }),
  };
}

/** A click, which waits for the moment in which nothing can be clicked (`aria-disabled`) to pass. */
export const press = (sight: Sight, name: RegExp): Promise<void> =>
  sight.page.locator(".decide").getByRole("button", { name }).click();

export const says = (sight: Sight, words: RegExp) => sight.page.getByText(words).first().waitFor();

export const go = (sight: Sight, hash: string) => sight.page.evaluate(`location.hash = ${JSON.stringify(hash)}`);

/** Looking for barriers takes as long as the rest of what is done on a view. */
const ONE_IN = 5;

/** A picture of a view, where somebody wants one; and of one view in a few, in every run others, what a person would stumble over. */
export async function clean(sight: Sight, name: string): Promise<void> {
  await shoot(sight, name);
  if (isSampled("views of the console that are searched for barriers", name, ONE_IN))
    assert.deepEqual(await findBarriers(sight), [], name);
}

/** Whatever acts or signs asks who presses it. */
export async function prove(sight: Sight, home: Home, secret = secretOf(home)): Promise<void> {
  const dialog = sight.page.getByRole("dialog", { name: "Is it you?" });
  await dialog.locator("input").fill(secret);
  await dialog.getByRole("button", { name: "Go on" }).click();
}

export function secretOf(home: Home): string {
  return readFileSync(home.passphraseFile, "utf8").trim();
}

export async function enrol(sight: Sight, home: Home, name: string): Promise<void> {
  await go(sight, "#/people");
  await sight.page.getByLabel("Name of the new one").fill(name);
  await sight.page.getByRole("button", { name: "Enrol a passkey" }).click();
  await prove(sight, home);
  await says(sight, new RegExp(`${name} is enrolled`));
}

/** Without the browser's own list of refused requests: some are refused on purpose, others until the person says who they are. */
export function ownComplaints({ complaints }: Sight): readonly string[] {
  return complaints.filter((text) => !text.startsWith("Failed to load resource"));
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  assert.ok(typeof address === "object" && address !== null);
  return address.port;
}
