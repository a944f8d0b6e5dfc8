import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { Secret } from "../../kernel/secret.ts";
import { runsOf } from "../../kernel/testing/whole.ts";
import { prepareScreen, REDACTED, type Screened } from "./echo.ts";
import { SCANNABLE_SECRET_BYTES } from "./echo-patterns.ts";

function screen(secret: Buffer | string, body: Buffer | string, mode: "withhold" | "redact" = "withhold"): Screened {
  return prepareScreen([Secret.take(Buffer.from(secret))])({ headers: {}, body: Buffer.from(body) }, mode);
}

const secrets = fc.uint8Array({ minLength: SCANNABLE_SECRET_BYTES, maxLength: 64 }).map((bytes) => Buffer.from(bytes));
const tokens = fc.string({ unit: fc.constantFrom(...'abcXYZ019-_.~+/=%&"\\ é€𝄞'), minLength: 6, maxLength: 40 });
const around = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes));
/** Text that ends in no half-open escape, which would swallow what follows. */
const closed = fc.string({ unit: fc.constantFrom(..."abc 019{}[]:,<>/-_+="), maxLength: 40 });

/** Encodes each byte or leaves it, as `choices` says; what a reader could misread is always encoded. */
function percentEncode(bytes: Buffer, choices: readonly number[]): string {
  let text = "";
  bytes.forEach((byte, index) => {
    const choice = choices[index % choices.length] ?? 0;
    const must = byte === 0x25 || byte > 0x7e || byte < 0x21;
    const hex = byte.toString(16).padStart(2, "0");
    if (!must && choice === 0) text += String.fromCharCode(byte);
    else
      text += `%${choice === 1 ? hex.toUpperCase() : choice === 2 ? hex : hex.slice(0, 1).toUpperCase() + hex.slice(1)}`;
  });
  return text;
}

function jsonEncode(text: string, choices: readonly number[]): string {
  let out = "";
  [...text].forEach((char, index) => {
    const choice = choices[index % choices.length] ?? 0;
    if (choice === 0) out += JSON.stringify(char).slice(1, -1);
    else if (choice === 1 && char === "/") out += "\\/";
    else for (const unit of char.split("")) out += `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
  return out;
}

const choices = fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 12 });

describe("any embedding of a secret is found", () => {
  const found = (screened: Screened): boolean => screened.kind === "withheld" && screened.content.body.byteLength === 0;

  test("plain, anywhere in any bytes", () => {
    fc.assert(
      fc.property(secrets, around, around, (secret, before, after) => {
        assert.ok(found(screen(secret, Buffer.concat([before, secret, after]))));
      }),
    );
  });

  test("in hex, upper and lower case", () => {
    fc.assert(
      fc.property(secrets, around, around, fc.boolean(), (secret, before, after, upper) => {
        const hex = secret.toString("hex");
        const text = Buffer.from(upper ? hex.toUpperCase() : hex);
        assert.ok(found(screen(secret, Buffer.concat([before, text, after]))));
      }),
    );
  });

  test("in base64 and base64url, encoded together with any bytes before and after it", () => {
    fc.assert(
      fc.property(
        secrets,
        around,
        around,
        fc.constantFrom("base64" as const, "base64url" as const),
        closed,
        (secret, before, after, alphabet, frame) => {
          const text = Buffer.concat([before, secret, after]).toString(alphabet);
          assert.ok(found(screen(secret, `${frame}${text}${frame}`)));
        },
      ),
      { numRuns: runsOf(500) },
    );
  });

  test("percent-encoded in whole or in part, with any case of digits", () => {
    fc.assert(
      fc.property(secrets, closed, closed, choices, (secret, before, after, mixed) => {
        assert.ok(found(screen(secret, before + percentEncode(secret, mixed) + after)));
      }),
      { numRuns: runsOf(500) },
    );
  });

  test("form-encoded, with a plus sign for a space", () => {
    fc.assert(
      fc.property(tokens, (token) => {
        const body = new URLSearchParams({ authorization: token }).toString();
        assert.ok(found(screen(token, body)), body);
      }),
    );
  });

  test("with the first and the last character of each length of UTF-8, as they stand and as JSON escapes", () => {
    for (const char of [
      "\x7f",
      "\x80",
      "\u07ff",
      "\u0800",
      "\uffff",
      "\u{10000}",
      "\u{103ff}",
      "\u{10fc00}",
      "\u{10ffff}",
    ]) {
      const token = `tok-${char}-1`;
      for (const mixed of [[0], [2]]) assert.ok(found(screen(token, `"${jsonEncode(token, mixed)}"`)), token);
    }
  });

  test("inside JSON strings, with any mix of escapes, one level or two", () => {
    fc.assert(
      fc.property(tokens, closed, choices, fc.boolean(), (token, frame, mixed, twice) => {
        const inner = `{"a":"${frame}${jsonEncode(token, mixed)}"}`;
        assert.equal(JSON.parse(inner).a, frame + token);
        const body = twice ? JSON.stringify({ log: inner }) : inner;
        assert.ok(found(screen(token, body)), body);
      }),
      { numRuns: runsOf(500) },
    );
  });

  test("percent-encoded or in base64 inside a JSON string", () => {
    fc.assert(
      fc.property(secrets, choices, around, (secret, mixed, before) => {
        const url = `https://a.test/?t=${percentEncode(secret, mixed)}`;
        assert.ok(found(screen(secret, JSON.stringify({ url }))));
        const packed = Buffer.concat([before, secret]).toString("base64").replaceAll("/", "\\/");
        assert.ok(found(screen(secret, `{"a":"${packed}"}`)));
      }),
    );
  });

  test("in any header field, and that field alone is taken out", () => {
    fc.assert(
      fc.property(fc.constantFrom("link", "location", "etag"), choices, (name, mixed) => {
        const token = "tok/9f27+c1e0";
        const headers = {
          "x-request-id": "r1",
          [name]: `<https://a.test/${percentEncode(Buffer.from(token), mixed)}>`,
        };
        const screened = prepareScreen([Secret.fromText(token)])({ headers, body: Buffer.from("{}") }, "withhold");
        assert.ok(screened.kind === "withheld");
        assert.equal(screened.echo.where, `header ${name}`);
        assert.deepEqual(screened.content.headers, { "x-request-id": "r1" });
      }),
    );
  });

  test("the report names the form and the decodings, never the secret", () => {
    const cases = [
      ["tok/9f27+c1e0", "plain", ["raw"]],
      ["tok%2F9f27%2bc1e0", "plain", ["raw", "percent"]],
      ["tok\\/9f27+c1e0", "plain", ["raw", "json"]],
      [Buffer.from("tok/9f27+c1e0").toString("hex"), "hex", ["raw"]],
      [Buffer.from("user:tok/9f27+c1e0").toString("base64"), "base64", ["raw"]],
    ] as const;
    for (const [body, form, through] of cases) {
      const screened = screen("tok/9f27+c1e0", `{"a":"${body}"}`);
      assert.ok(screened.kind === "withheld", body);
      assert.deepEqual(screened.echo, { where: "body", form, through });
    }
  });
});

describe("clean responses", () => {
  test("a body without the secret is left untouched", () => {
    fc.assert(
      fc.property(
        secrets,
        fc.uint8Array({ maxLength: 300 }),
        fc.constantFrom("withhold" as const, "redact" as const),
        (secret, bytes, mode) => {
          const body = Buffer.from(bytes);
          const before = Buffer.from(body);
          fc.pre(!body.includes(secret));
          assert.deepEqual(screen(secret, body, mode), { kind: "clean" });
          assert.deepEqual(body, before);
        },
      ),
    );
  });

  test("half a secret, a secret in another case and a secret with a byte between are clean", () => {
    for (const body of ["tok_9f27c1", "TOK_9F27C1E0", "tok_9f27 c1e0", "tok_9f27%00c1e0", "tok_9f27\\u0000c1e0"]) {
      assert.equal(screen("tok_9f27c1e0", body).kind, "clean", body);
    }
  });

  test("escapes that are none are read as they stand", () => {
    for (const body of ["100%", "%zz%4", "\\", "\\u12", "\\x", "\\ud834", "\\ud834\\u0041", "%", "a\\"]) {
      assert.equal(screen("tok_9f27c1e0", body).kind, "clean", body);
      assert.equal(screen("tok_9f27c1e0", `${body} tok_9f27c1e0`).kind, "withheld", body);
    }
  });

  test("a secret of fewer than six bytes is not looked for, and an empty one matches nothing", () => {
    assert.equal(screen("12345", "12345").kind, "clean");
    assert.equal(screen("", "anything").kind, "clean");
    assert.equal(screen("123456", "123456").kind, "withheld");
    assert.equal(prepareScreen([])({ headers: {}, body: Buffer.from("x") }, "withhold").kind, "clean");
  });
});

describe("redaction", () => {
  test("every occurrence in every form is replaced, and nothing of it can be found afterwards", () => {
    fc.assert(
      fc.property(tokens, closed, choices, (token, frame, mixed) => {
        const bytes = Buffer.from(token);
        const body = JSON.stringify({
          a: frame + token,
          b: percentEncode(bytes, mixed),
          c: bytes.toString("hex"),
          d: Buffer.concat([Buffer.from(frame), bytes]).toString("base64"),
          e: `${token}${token}`,
        });
        const screened = screen(token, body, "redact");
        assert.ok(screened.kind === "redacted" || screened.kind === "withheld");
        if (screened.kind === "redacted") {
          assert.equal(screen(token, screened.content.body).kind, "clean");
          assert.ok(screened.content.body.includes(REDACTED));
        }
      }),
      { numRuns: runsOf(300) },
    );
  });

  test("the text around is kept to the byte, and JSON stays JSON", () => {
    const token = "tok/9f27+c1é";
    const body = `{"a":"x\\u0074ok\\/9f27+c1\\u00e9y","b":"${encodeURIComponent(token)}&n=1","c":[1,"ü"]}`;
    const screened = screen(token, body, "redact");
    assert.ok(screened.kind === "redacted");
    assert.equal(screened.content.body.toString(), `{"a":"x${REDACTED}y","b":"${REDACTED}&n=1","c":[1,"ü"]}`);
  });

  test("base64 loses the characters that share bits with the secret", () => {
    const token = "tok_9f27c1e0";
    for (const user of ["", "u", "us", "use"]) {
      const body = Buffer.from(`${user}:${token}!`).toString("base64");
      const screened = screen(token, `"${body}"`, "redact");
      assert.ok(screened.kind === "redacted");
      const rest = screened.content.body.toString().replace(REDACTED, "").replaceAll('"', "");
      const shown = Buffer.from(rest, "base64").toString("latin1");
      assert.equal(shown.includes("t") || shown.includes("0"), false, `${user}: ${shown}`);
    }
  });

  test("a header is redacted like the body", () => {
    const headers = { location: "/cb?token=tok_9f27c1e0&x=1" };
    const screened = prepareScreen([Secret.fromText("tok_9f27c1e0")])({ headers, body: Buffer.from("") }, "redact");
    assert.ok(screened.kind === "redacted");
    assert.deepEqual(screened.content.headers, { location: `/cb?token=${REDACTED}&x=1` });
  });

  test("a body that is nothing but the secret, over and over, is withheld whole", () => {
    assert.equal(screen("tok_9f27c1e0", "tok_9f27c1e0,".repeat(20_000), "redact").kind, "withheld");
  });

  test("a secret that is part of the mark itself is withheld", () => {
    assert.equal(screen("[credential]", "a [credential] b", "redact").kind, "withheld");
  });
});

describe("several secrets", () => {
  test("each is found, and one inside another is found once", () => {
    const held = ["Bearer tok_9f27c1e0", "tok_9f27c1e0", "tok_9f27c1e0", "other-secret"].map((text) =>
      Secret.fromText(text),
    );
    const run = prepareScreen(held);
    for (const text of ["Bearer tok_9f27c1e0", "tok_9f27c1e0", "other-secret"]) {
      assert.equal(run({ headers: {}, body: Buffer.from(text) }, "withhold").kind, "withheld", text);
    }
    const redacted = run({ headers: {}, body: Buffer.from("Bearer tok_9f27c1e0") }, "redact");
    assert.ok(redacted.kind === "redacted");
    assert.equal(redacted.content.body.toString(), REDACTED);
  });

  test("of those that hold one another or overlap, no part stays, whatever their order", () => {
    const long = "left-9f27c1e0-right";
    const part = "9f27c1e0";
    const beside = "c1e0-right-and-more";
    const texts: readonly (readonly [string, string])[] = [
      [`<${long}>`, `<${REDACTED}>`],
      [`<${part}>`, `<${REDACTED}>`],
      [`<left-9f27${beside}>`, `<${REDACTED}>`],
      [`<${beside}${long}>`, `<${REDACTED}>`],
      [`<${encodeURIComponent(`${long} `)}>`, `<${REDACTED}%20>`],
    ];
    for (const order of [
      [long, part, beside],
      [part, long, beside],
      [beside, part, long],
      [long, beside, part],
    ]) {
      const run = prepareScreen(order.map((text) => Secret.fromText(text)));
      for (const [text, left] of texts) {
        const screened = run({ headers: { location: text }, body: Buffer.from(text) }, "redact");
        assert.ok(screened.kind === "redacted", text);
        assert.deepEqual([screened.content.headers["location"], screened.content.body.toString()], [left, left]);
      }
      for (const form of ["hex", "base64"] as const) {
        const screened = run({ headers: {}, body: Buffer.from(Buffer.from(long).toString(form)) }, "redact");
        assert.ok(screened.kind === "redacted", form);
        assert.match(screened.content.body.toString(), /^\[credential\]=*$/, form);
      }
    }
  });

  test("one that begins again within itself goes whole", () => {
    const screened = screen("abcabcabc", "<abcabcabcabc>", "redact");
    assert.ok(screened.kind === "redacted");
    assert.equal(screened.content.body.toString(), `<${REDACTED}>`);
  });

  test("a part that cuts a character in two does not hide the UTF-16 of the whole", () => {
    const whole = Buffer.from("tok-é-0123456789");
    const part = whole.subarray(5);
    const run = prepareScreen([Secret.take(Buffer.from(part)), Secret.take(Buffer.from(whole))]);
    const body = Buffer.from(whole.toString("utf8"), "utf16le");
    assert.equal(run({ headers: {}, body }, "withhold").kind, "withheld");
  });

  test("a secret that is wiped after the screen was prepared is still found", () => {
    const secret = Secret.fromText("tok_9f27c1e0");
    const run = prepareScreen([secret]);
    secret.wipe();
    assert.equal(run({ headers: {}, body: Buffer.from("tok_9f27c1e0") }, "withhold").kind, "withheld");
  });
});

test("the work grows with the length of the body, whatever the body and the secret are", () => {
  // Counted in bytes of decoded text rather than in time: no view is longer than the body, and there are at most nine.
  const hostile = ["%41", "\\u0041", "\\\\", "%%%", "+%2B", "\\u%41", "aaaaaaab", "%5Cu0041"];
  for (const unit of hostile) {
    const body = Buffer.alloc(1 << 20, unit);
    assert.equal(screen(`b${"a".repeat(500)} `, body).kind, "clean", unit);
    assert.notEqual(
      screen("tok_9f27c1e0", Buffer.concat([body, Buffer.from("tok_9f27c1e0")]), "redact").kind,
      "clean",
      unit,
    );
  }
});

test("an echo in UTF-16 of either byte order, percent-encoded twice, or packed with gzip is found", () => {
  const text = "s3cr3t/Token+0123456789";
  const screen = prepareScreen([Secret.fromText(text)]);
  const big = Buffer.from(`{"auth":"${text}"}`, "utf16le").swap16();
  const bodies: readonly (readonly [string, Buffer])[] = [
    ["UTF-16LE", Buffer.from(`{"auth":"${text}"}`, "utf16le")],
    ["UTF-16BE", big],
    ["twice", Buffer.from(`next=${encodeURIComponent(encodeURIComponent(`/a?k=${text}`))}`)],
    ["gzip", gzipSync(`{"auth":"${text}"}`)],
    ["gzip that unpacks to too much", gzipSync(Buffer.alloc(9_000_000))],
  ];
  for (const [what, body] of bodies) {
    for (const mode of ["withhold", "redact"] as const) {
      const screened = screen({ headers: {}, body }, mode);
      assert.notEqual(screened.kind, "clean", `${what}, ${mode}`);
      if (screened.kind === "clean") continue;
      assert.equal(screen(screened.content, "withhold").kind, "clean", `${what}, ${mode}: nothing is left`);
    }
  }
  assert.equal(screen({ headers: {}, body: gzipSync("nothing to see") }, "withhold").kind, "clean");
  assert.equal(screen({ headers: {}, body: Buffer.from([0x1f, 0x8b, 1, 2, 3]) }, "withhold").kind, "clean");
});
