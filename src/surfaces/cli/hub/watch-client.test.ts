import assert from "node:assert/strict";
import { test } from "node:test";
import { Denied } from "../../../kernel/failure.ts";
import type { FoundCard } from "./cards.ts";
import { shownCard } from "./watch-client.ts";

const card = (gateway: string, card_digest: string): FoundCard =>
  ({ speaker: { gateway }, approval: { approval_id: "apr_1", card_digest } }) as unknown as FoundCard;

test("what is signed is the card that was shown, whatever another gateway shows under its name by then", () => {
  const shown = { gateway: "web1", approval_id: "apr_1", card_digest: "sha256:a" };
  const [own, foreign, changed] = [card("web1", "sha256:a"), card("web9", "sha256:b"), card("web1", "sha256:c")];
  assert.equal(shownCard([foreign, own], shown), own);
  assert.equal(shownCard([own, foreign], shown), own);
  for (const known of [[], [foreign], [changed], [card("web9", "sha256:a")]])
    assert.throws(
      () => shownCard(known, shown),
      (error) => error instanceof Denied && error.code === "not_found",
    );
});
