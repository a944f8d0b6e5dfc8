import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { defaults } from "../../kernel/defaults.ts";
import { readLinks } from "./read-link.ts";

const targets = (field: string) => readLinks(field)?.map(({ target, relations }) => [target, relations.join(" ")]);

test("a Link header with rel next is read in every spelling that the standard allows", () => {
  for (const [field, expected] of [
    ['</a?cursor=1>; rel="next"', [["/a?cursor=1", "next"]]],
    ["</a>;rel=next", [["/a", "next"]]],
    ['</a> ; REL = "Next prev"', [["/a", "next prev"]]],
    [
      '</a>; rel=first, </b>; title="x, y; \\"z\\""; rel=next',
      [
        ["/a", "first"],
        ["/b", "next"],
      ],
    ],
    ["</a>; rel=next; rel=prev", [["/a", "next"]]],
    ["</a>; crossorigin; rel=next", [["/a", "next"]]],
    ["<>; rel=next", [["", "next"]]],
    ["", []],
    ["  ", []],
    ["</a>,", [["/a", ""]]],
  ] as const) {
    assert.deepEqual(targets(field), expected, field);
  }
});

test("a malformed Link header is no list of links at all", () => {
  for (const field of [
    "/a; rel=next",
    "<a",
    "</a> rel=next",
    "</a>; =next",
    "</a>; rel=",
    '</a>; rel="',
    '</a>; rel="next',
    "</a>; rel=next </b>",
    "</a>;; rel=next",
    '</a>; rel="" ; x',
    `<${"a".repeat(defaults.discoveryLinkCharacters)}>`,
  ]) {
    assert.equal(readLinks(field), null, field.slice(0, 40));
  }
});

test("an anchor says that the link is about something else", () => {
  assert.equal(readLinks('</a>; rel=next; anchor="/other"')?.[0]?.anchored, true);
  assert.equal(readLinks("</a>; rel=next")?.[0]?.anchored, false);
});

test("whatever a header holds, reading it ends and gives links or nothing", () => {
  const piece = fc.constantFrom("<", ">", ";", ",", '"', "\\", "=", " ", "rel", "next", "/a", "anchor", "\t", "é");
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(piece).map((pieces) => pieces.join("")),
      ),
      (field) => {
        const links = readLinks(field);
        assert.ok(links === null || links.every(({ target }) => field.includes(`<${target}>`)));
      },
    ),
  );
});

test("a well-formed link is read back as it was written", () => {
  const token = fc.stringMatching(/^[a-z]{1,8}$/);
  fc.assert(
    fc.property(
      fc.array(
        fc.tuple(
          fc.stringMatching(/^https:\/\/[a-z]{1,9}\/[a-z,;=?&0-9"]{0,20}$/),
          fc.array(token, { minLength: 1, maxLength: 3 }),
        ),
        {
          maxLength: 4,
        },
      ),
      (links) => {
        const field = links.map(([url, relations]) => `<${url}>; rel="${relations.join(" ")}"`).join(", ");
        fc.pre(field.length <= defaults.discoveryLinkCharacters);
        assert.deepEqual(
          readLinks(field)?.map(({ target, relations }) => [target, relations]),
          links.map(([url, relations]) => [url, relations]),
        );
      },
    ),
  );
});
