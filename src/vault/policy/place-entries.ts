import { type PackPlace, troubleWithPlace } from "../../conventions/action/place.ts";
import type { JsonObject, JsonValue } from "../../kernel/json.ts";
import { PACK, shape } from "./entries.ts";

export function placePage({ pack, origin, basePath, network }: PackPlace): JsonObject {
  return { pack, origin, base_path: basePath, network };
}

export function readPlace(value: JsonValue, where: string): PackPlace {
  const place = shape.members(value, where, ["pack", "origin", "base_path", "network"]);
  const read: PackPlace = {
    pack: shape.text(place.pack, `${where}/pack`, 64, PACK),
    origin: shape.text(place.origin, `${where}/origin`, 300),
    basePath: place.base_path === "" ? "" : shape.text(place.base_path, `${where}/base_path`, 600),
    network: shape.oneOf(place.network, `${where}/network`, ["public", "private"]),
  };
  const trouble = troubleWithPlace(read);
  return trouble === null ? read : shape.refuse(where, trouble);
}
