import Fastify from "fastify";
import { Pool } from "undici";

/** The peer: a bare reverse proxy that adds the header and does none of the rest. */
const [origin = "", token = ""] = process.argv.slice(2);
const pool = new Pool(origin, { connections: 64 });
const app = Fastify();
app.all("/*", async (request, reply) => {
  const answer = await pool.request({
    method: request.method as "GET",
    path: request.url,
    headers: { authorization: `Bearer ${token}` },
  });
  reply.code(answer.statusCode).header("content-type", answer.headers["content-type"] ?? "application/json");
  return answer.body.text();
});
const address = await app.listen({ port: 0, host: "127.0.0.1" });
console.log(new URL(address).port);
process.once("disconnect", () => process.exit());
