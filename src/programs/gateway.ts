import { createClock } from "../adapters/platform/system.ts";
import { serveGateway } from "./serve-gateway.ts";

await serveGateway(createClock());
