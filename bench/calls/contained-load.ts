import { Agent, request } from "node:http";
import { join } from "node:path";

/**
 * Below `gw run`: one read after another, then from 16 connections at once; in a box as the plain request to a provider,
 * outside as a call on the agent socket. Prints what it took, as one line of JSON.
 */
const [url = "", count = "200"] = process.argv.slice(2);
const CONNECTIONS = 16;
const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
const { GW_HOME = "", GW_RUN = "" } = process.env;
const call = JSON.stringify({ action: "bench.thing.get", input: { id: "7" } });

function ask(): Promise<number> {
  const from = performance.now();
  return new Promise((resolve, reject) => {
    const direct = {
      ...{ agent, socketPath: join(GW_HOME, "agent.sock"), method: "POST", path: `/v1/runs/${GW_RUN}/calls` },
      headers: { "content-type": "application/json", "content-length": call.length, prefer: "wait=30" },
    };
    const sent = url === "direct" ? request(direct) : request(url, { agent });
    sent.once("error", reject);
    sent.once("response", (response) => {
      if (response.statusCode !== 200) reject(new Error(`${response.statusCode} ${response.statusMessage}`));
      response.resume();
      response.once("end", () => resolve(performance.now() - from));
    });
    sent.end(url === "direct" ? call : undefined);
  });
}

for (let warm = 0; warm < 30; warm++) await ask();
const times: number[] = [];
for (let index = 0; index < Number(count); index++) times.push(await ask());
const from = performance.now();
let left = Number(count) * 4;
await Promise.all(
  Array.from({ length: CONNECTIONS }, async () => {
    while (left-- > 0) await ask();
  }),
);
const perSecond = (Number(count) * 4) / ((performance.now() - from) / 1000);
console.log(JSON.stringify({ p50: times.sort((a, b) => a - b)[times.length >> 1], perSecond }));
process.exit(0);
