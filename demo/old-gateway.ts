import { createClock } from "../src/adapters/platform/system.ts";
import { serveGateway } from "../src/programs/serve-gateway.ts";
import { yearAgo } from "./year-ago.ts";

/** The gateway of the demo's home as it was a year ago: the very program, under a clock that the demo sets back. */
await serveGateway(yearAgo(createClock()));
