import assert from "node:assert/strict";
import { test } from "node:test";
import { bits, der, explicit, integer, octets, oid, sequence, set, utcTime, utf8, yes } from "./der.ts";

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

test("every kind of value has its tag", () => {
  assert.equal(hex(sequence(integer(0))), "3003020100");
  assert.equal(hex(set(yes())), "31030101ff");
  assert.equal(hex(octets(Buffer.from([1, 2]))), "04020102");
  assert.equal(hex(bits(Buffer.from([1]))), "03020001");
  assert.equal(hex(utf8("gw")), "0c026777");
  assert.equal(hex(explicit(3, integer(2))), "a303020102");
  assert.equal(hex(integer(Buffer.from([0x41, 0xff]))), "020241ff");
});

test("a length is one byte below 128, and says how many bytes it has from there on", () => {
  const head = (length: number): string => hex(der(4, Buffer.alloc(length)).subarray(0, -length));
  assert.equal(head(0x7f), "047f");
  assert.equal(head(0x80), "048180");
  assert.equal(head(0xff), "0481ff");
  assert.equal(head(0x100), "04820100");
  assert.equal(head(0x10000), "0483010000");
});

test("an identifier's arcs are in groups of seven bits, all but the last marked", () => {
  assert.equal(hex(oid("2.5.29.37")), "0603551d25");
  assert.equal(hex(oid("1.2.840.10045.4.3.2")), "06082a8648ce3d040302");
  assert.equal(hex(oid("1.3.127.128.16384")), "06072b7f8100818000");
});

test("a time is written in UTC to the second", () => {
  assert.equal(utcTime(new Date("2026-03-04T05:06:07.890Z")).subarray(2).toString(), "260304050607Z");
});
