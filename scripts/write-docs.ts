import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { publishedSchema } from "../src/conventions/action/schema/pack.ts";
import { errorsPage } from "./errors-page.ts";

writeFileSync(join(import.meta.dirname, "../docs/errors.md"), errorsPage());
writeFileSync(join(import.meta.dirname, "../packs/pack.schema.json"), publishedSchema());
