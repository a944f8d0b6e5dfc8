import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Denied } from "../kernel/failure.ts";
import { runsOf } from "../kernel/testing/whole.ts";
import { addCredential } from "./credential.ts";
import { suspendCredential } from "./notes.ts";
import { edited, founding, ORIGIN, ports, refuses, secret, withTokens } from "./testing/fixture.ts";
import { parseVault, vaultPage } from "./verify.ts";

const start = await founding();
const page = vaultPage(await fullVault());

async function fullVault() {
  const vault = await withTokens(start, { acme: "token-of-acme-1", zeta: "token-of-zeta-1" });
  const header = { label: "head", kind: "header", headerName: "X-Api-Key", boundTo: [ORIGIN], eachUse: true } as const;
  const withHeader = await addCredential(vault, start.operator, { ...header, secret: secret("key-of-head-1") }, ports);
  return suspendCredential(withHeader, start.operator.serviceKey, "zeta", "echoed", 1_800_000_000_000);
}

test("a vault and its page say the same, both ways", () => {
  assert.equal(vaultPage(parseVault(page)), page);
});

test("a page holds no secret, only sealed ones", () => {
  for (const text of ["token-of-acme-1", "key-of-head-1", "amber-otter"]) {
    assert.ok(!page.includes(text));
    assert.ok(!page.includes(Buffer.from(text).toString("base64url")));
  }
});

test("a page that is cut short anywhere is refused", () => {
  for (let length = 0; length < page.length; length += 97)
    refuses(() => parseVault(page.slice(0, length)), "vault_malformed");
});

test("any changed character is refused, whatever it hits", () => {
  fc.assert(
    fc.property(fc.nat({ max: page.length - 1 }), fc.integer({ min: 1, max: 127 }), (at, shift) => {
      const changed = page.slice(0, at) + String.fromCharCode((page.charCodeAt(at) + shift) % 128) + page.slice(at + 1);
      // The service MAC is checked by whoever holds the service key, not by a reader without it.
      fc.pre(!isServicePart(changed));
      assert.throws(() => parseVault(changed), Denied);
    }),
    { numRuns: runsOf(400) },
  );
});

function isServicePart(changed: string): boolean {
  try {
    const { notes: _n, service_mac: _m, ...now } = JSON.parse(changed);
    const { notes: _o, service_mac: _p, ...before } = JSON.parse(page);
    return JSON.stringify(now) === JSON.stringify(before);
  } catch {
    return false;
  }
}

const otherForms: Readonly<Record<string, string>> = {
  "names a member twice": page.replace('"generation"', '"generation": 9,\n  "generation"'),
  "names a nested member twice": page.replace('"kind": "bearer"', '"kind": "basic",\n      "kind": "bearer"'),
  "has its members in another order": page.replace(
    /^\{\n( {2}"credentials[\s\S]*?\n {2}\]),\n( {2}"format"[^\n]*),\n/,
    "{\n$2,\n$1,\n",
  ),
  "has other white space": page.replace("\n", "\n\n"),
  "has no end of line": page.trimEnd(),
  "carries a byte order mark": `\ufeff${page}`,
  "has text behind it": `${page}{}`,
  "spells a character in another way": page.replace("acme", "\\u0061cme"),
  "writes a number in another way": page.replace(/"generation": (\d+)/, '"generation": $1.0'),
};
for (const [what, text] of Object.entries(otherForms)) {
  test(`a page that ${what} is refused`, () => {
    assert.notEqual(text, page);
    refuses(() => parseVault(text), "vault_malformed");
  });
}

const otherShapes: Readonly<Record<string, (value: Parameters<Parameters<typeof edited>[1]>[0]) => void>> = {
  "an unknown member": (value) => {
    value["extra"] = 1;
  },
  "an unknown member in a credential": (value) => {
    for (const entry of value.credentials) entry["note"] = "x";
  },
  "a missing member": (value) => {
    delete value["signature"];
  },
  "another format": (value) => {
    value["format"] = "gw.vault/v2";
  },
  "a generation that is text": (value) => {
    Object.assign(value, { generation: "3" });
  },
  "a generation of zero": (value) => {
    value.generation = 0;
  },
  "a generation beyond exact numbers": (value) => {
    value.generation = 2 ** 53;
  },
  "a credential of an unknown kind": (value) => {
    for (const entry of value.credentials) entry["kind"] = "cookie";
  },
  "a mark that is a number": (value) => {
    for (const entry of value.credentials) entry["each_use"] = 1;
  },
  "credentials out of order": (value) => {
    value.credentials.reverse();
  },
  "one credential twice": (value) => {
    value.credentials.push(...value.credentials.slice(-1));
  },
  "base64 with padding": (value) => {
    value["signature"] = `${String(value["signature"])}==`;
  },
  "base64 with bits that mean nothing": (value) => {
    value["signature"] = `${String(value["signature"]).slice(0, -1)}B`;
  },
  "more slots than there can be operators": (value) => {
    value.slots = Array.from({ length: 65 }, () => value.slots[0] ?? { kdf: {} });
  },
  "another derivation": (value) => {
    for (const slot of value.slots) slot.kdf["algorithm"] = "pbkdf2";
  },
  "a lineage record of another kind": (value) => {
    for (const record of value.lineage) record["change"] = "promote";
  },
};
for (const [what, change] of Object.entries(otherShapes)) {
  test(`a page with ${what} is refused`, () => {
    refuses(() => parseVault(edited(page, change)), "vault_malformed");
  });
}

test("whatever JSON value stands where, parsing ends in a vault or a refusal", () => {
  fc.assert(
    fc.property(fc.constantFrom(...Object.keys(JSON.parse(page))), fc.jsonValue(), (name, value) => {
      const changed = edited(page, (vault) => {
        vault[name] = value;
      });
      if (changed === page) return;
      assert.throws(() => parseVault(changed), Denied);
    }),
  );
});
