import { MIMEType } from "node:util";
import { Denied } from "../../../src/kernel/failure.ts";

/** What a Content-Type field says once it passed the one parameter policy. `charset=utf-8` is normalized away. */
export interface MediaType {
  readonly essence: string;
  readonly boundary: string | undefined;
}

/** RFC 2046 section 5.1.1. */
const BOUNDARY = /^[0-9A-Za-z'()+_,\-./:=? ]{0,69}[0-9A-Za-z'()+_,\-./:=?]$/;

/** What the library would repair or drop in silence does not get as far as the library: each parameter is whole or nothing. */
const SHAPE = /^[^;"]*(?:;[ \t]*[A-Za-z]+=(?:[^";\\ \t]+|"[^"\\]*"))*$/;

/**
 * Reads one Content-Type value. The only parameters are `charset=utf-8`, and `boundary` on multipart types; all others,
 * and everything that the library would quietly drop (repeats, stray text), are refused.
 */
export function readMediaType(field: string): MediaType {
  if (!SHAPE.test(field)) throw refused("its parameters are malformed");
  const type = parse(field);
  const parameters = [...type.params];
  // No admitted value holds a semicolon, so a count that differs means that something was dropped on the way.
  if (field.split(";").length - 1 !== parameters.length) throw refused("a parameter is repeated");
  let boundary: string | undefined;
  for (const [name, value] of parameters) {
    if (name === "charset") {
      if (value.toLowerCase() !== "utf-8") throw refused("the only charset is utf-8");
    } else if (name === "boundary" && type.type === "multipart") {
      if (!BOUNDARY.test(value)) throw refused("the boundary is not one of RFC 2046");
      boundary = value;
    } else throw refused("only charset=utf-8 may follow the type");
  }
  return { essence: type.essence, boundary };
}

function parse(field: string): MIMEType {
  try {
    return new MIMEType(field);
  } catch {
    throw refused("it is not a media type");
  }
}

function refused(why: string): Denied {
  return new Denied("media_type_unsupported", `the Content-Type was refused: ${why}`);
}
