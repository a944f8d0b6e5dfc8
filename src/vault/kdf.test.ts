import assert from "node:assert/strict";
import { test } from "node:test";
import { defaults } from "../kernel/defaults.ts";
import { checkKdf, currentKdf, deriveBytes } from "./kdf.ts";
import { refuses, refusesLater, secret } from "./testing/fixture.ts";

const kdf = currentKdf(Buffer.alloc(16, 7));

test("new slots use 64 MiB, 3 passes and 4 lanes at least", () => {
  assert.ok(kdf.memoryKib >= 65_536 && kdf.passes >= 3 && kdf.lanes >= 4);
  checkKdf(kdf);
});

const refused = {
  "less memory": { memoryKib: kdf.memoryKib - 1 },
  "fewer passes": { passes: kdf.passes - 1 },
  "fewer lanes": { lanes: kdf.lanes - 1 },
  "more memory than this machine should give": { memoryKib: defaults.kdfMemoryKibMax + 1 },
  "more passes than a person should wait for": { passes: defaults.kdfPassesMax + 1 },
  "more lanes": { lanes: defaults.kdfLanesMax + 1 },
  "parameters that are not numbers of anything": { memoryKib: Number.NaN },
  "a short salt": { salt: Buffer.alloc(8) },
};
for (const [what, change] of Object.entries(refused)) {
  test(`a file that asks for ${what} is refused before anything is derived`, async () => {
    refuses(() => checkKdf({ ...kdf, ...change }), "kdf_parameters_refused");
    await refusesLater((async () => await deriveBytes(secret("x"), { ...kdf, ...change }))(), "kdf_parameters_refused");
  });
}

test("the same phrase derives the same bytes, however the keyboard composed its letters", async () => {
  const [composed, decomposed, other] = await Promise.all([
    deriveBytes(secret("caf\u00e9 au lait"), kdf),
    deriveBytes(secret("cafe\u0301 au lait"), kdf),
    deriveBytes(secret("cafe au lait"), kdf),
  ]);
  assert.ok(composed.equals(decomposed));
  assert.ok(!composed.equals(other));
});
