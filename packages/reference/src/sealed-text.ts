import { timingSafeEqual } from "node:crypto";
import type { JsonObject } from "../../../src/kernel/json.ts";
import { type Core, macOf } from "./core.ts";

/** Opaque text that only this provider can have made: cursors and plan tokens. `purpose` keeps one from passing as the other. */
export function sealText(core: Pick<Core, "macKey">, purpose: string, value: JsonObject): string {
  const body = Buffer.from(JSON.stringify(value), "utf8").toString("base64url");
  return `${body}.${macOf(core, purpose, body)}`;
}

/** Undefined when the text was not sealed here for this purpose. */
export function openText(core: Pick<Core, "macKey">, purpose: string, text: string): JsonObject | undefined {
  const dot = text.indexOf(".");
  const body = text.slice(0, Math.max(dot, 0));
  const given = Buffer.from(text.slice(dot + 1));
  const expected = Buffer.from(macOf(core, purpose, body));
  if (dot < 1 || given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
  return JSON.parse(Buffer.from(body, "base64url").toString("utf8")) as JsonObject;
}
