/** The same routes as a plugin of Fastify. */
export {
  refuseNotFound,
  type StrictRequestsOptions,
  strictRequests,
  strictServerOptions,
} from "../../src/conventions/request/fastify.ts";
