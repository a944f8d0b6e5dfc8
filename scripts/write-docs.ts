import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { publishedSchema } from "../src/conventions/action/schema/pack.ts";
import { errorsPage } from "./errors-page.ts";
import { diagrams } from "./pictures.ts";

const root = join(import.meta.dirname, "..");
writeFileSync(join(root, "docs/errors.md"), errorsPage());
writeFileSync(join(root, "packs/pack.schema.json"), publishedSchema());
for (const [file, svg] of diagrams(join(root, "docs/pictures"))) writeFileSync(file, svg);
