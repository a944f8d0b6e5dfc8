import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { Denied } from "../../../../src/kernel/failure.ts";
import { parseJson } from "./parse.ts";

const folder = resolve(import.meta.dirname, "../../../../../shared/vectors/json-test-suite/test_parsing");
const skip = existsSync(folder) ? false : `no public vectors at ${folder}`;

/** Our choice where the suite leaves one, and why.. */
const choices: Readonly<Record<string, { readonly code: string; readonly why: string }>> = {
  "i_number_double_huge_neg_exp.json": { code: "json_number_out_of_range", why: "it would silently become 0" },
  "i_number_huge_exp.json": { code: "json_number_out_of_range", why: "it has no finite double" },
  "i_number_neg_int_huge_exp.json": { code: "json_number_out_of_range", why: "it has no finite double" },
  "i_number_pos_double_huge_exp.json": { code: "json_number_out_of_range", why: "it has no finite double" },
  "i_number_real_neg_overflow.json": { code: "json_number_out_of_range", why: "it has no finite double" },
  "i_number_real_pos_overflow.json": { code: "json_number_out_of_range", why: "it has no finite double" },
  "i_number_real_underflow.json": { code: "json_number_out_of_range", why: "it would silently become 0" },
  "i_number_too_big_neg_int.json": { code: "json_number_out_of_range", why: "an identifier would lose digits" },
  "i_number_too_big_pos_int.json": { code: "json_number_out_of_range", why: "an identifier would lose digits" },
  "i_number_very_big_negative_int.json": { code: "json_number_out_of_range", why: "an identifier would lose digits" },
  "i_object_key_lone_2nd_surrogate.json": { code: "json_malformed", why: "a lone surrogate is no character" },
  "i_string_1st_surrogate_but_2nd_missing.json": { code: "json_malformed", why: "a lone surrogate is no character" },
  "i_string_1st_valid_surrogate_2nd_invalid.json": { code: "json_malformed", why: "a lone surrogate is no character" },
  "i_string_UTF-16LE_with_BOM.json": { code: "json_malformed", why: "the encoding is UTF-8 and nothing is sniffed" },
  "i_string_UTF-8_invalid_sequence.json": { code: "json_malformed", why: "ill-formed UTF-8" },
  "i_string_UTF8_surrogate_U+D800.json": { code: "json_malformed", why: "ill-formed UTF-8" },
  "i_string_incomplete_surrogate_and_escape_valid.json": {
    code: "json_malformed",
    why: "a lone surrogate is no character",
  },
  "i_string_incomplete_surrogate_pair.json": { code: "json_malformed", why: "a lone surrogate is no character" },
  "i_string_incomplete_surrogates_escape_valid.json": {
    code: "json_malformed",
    why: "a lone surrogate is no character",
  },
  "i_string_invalid_lonely_surrogate.json": { code: "json_malformed", why: "a lone surrogate is no character" },
  "i_string_invalid_surrogate.json": { code: "json_malformed", why: "a lone surrogate is no character" },
  "i_string_invalid_utf-8.json": { code: "json_malformed", why: "ill-formed UTF-8" },
  "i_string_inverted_surrogates_U+1D11E.json": { code: "json_malformed", why: "a lone surrogate is no character" },
  "i_string_iso_latin_1.json": { code: "json_malformed", why: "ill-formed UTF-8" },
  "i_string_lone_second_surrogate.json": { code: "json_malformed", why: "a lone surrogate is no character" },
  "i_string_lone_utf8_continuation_byte.json": { code: "json_malformed", why: "ill-formed UTF-8" },
  "i_string_not_in_unicode_range.json": { code: "json_malformed", why: "ill-formed UTF-8" },
  "i_string_overlong_sequence_2_bytes.json": { code: "json_malformed", why: "ill-formed UTF-8" },
  "i_string_overlong_sequence_6_bytes.json": { code: "json_malformed", why: "ill-formed UTF-8" },
  "i_string_overlong_sequence_6_bytes_null.json": { code: "json_malformed", why: "ill-formed UTF-8" },
  "i_string_truncated-utf-8.json": { code: "json_malformed", why: "ill-formed UTF-8" },
  "i_string_utf16BE_no_BOM.json": { code: "json_malformed", why: "the encoding is UTF-8 and nothing is sniffed" },
  "i_string_utf16LE_no_BOM.json": { code: "json_malformed", why: "the encoding is UTF-8 and nothing is sniffed" },
  "i_structure_500_nested_arrays.json": { code: "json_too_deep", why: "our limit is 32 levels" },
  "i_structure_UTF-8_BOM_empty_object.json": {
    code: "json_malformed",
    why: "RFC 8259 lets a parser refuse the mark; two spellings of one text are one too many",
  },
};

function outcome(file: string): string | undefined {
  try {
    parseJson(readFileSync(join(folder, file)));
    return undefined;
  } catch (error) {
    assert.ok(error instanceof Denied, String(error));
    return error.code;
  }
}

test("of the public vectors every n_ is refused and every y_ accepted but the repeated names", { skip }, () => {
  const files = readdirSync(folder);
  const refused = files.filter((file) => file.startsWith("n_"));
  const accepted = files.filter((file) => file.startsWith("y_"));
  assert.deepEqual([refused.length, accepted.length], [188, 95]);
  assert.deepEqual(
    refused.filter((file) => outcome(file) === undefined),
    [],
  );
  assert.deepEqual(
    accepted.filter((file) => outcome(file) !== undefined),
    ["y_object_duplicated_key.json", "y_object_duplicated_key_and_value.json"],
  );
  for (const file of ["y_object_duplicated_key.json", "y_object_duplicated_key_and_value.json"]) {
    assert.equal(outcome(file), "json_duplicate_member");
  }
});

test("every vector that leaves us a choice is pinned with its reason", { skip }, () => {
  const files = readdirSync(folder).filter((file) => file.startsWith("i_"));
  assert.deepEqual(files.sort(), Object.keys(choices).sort());
  for (const file of files) assert.equal(outcome(file), choices[file]?.code, `${file}: ${choices[file]?.why}`);
});
