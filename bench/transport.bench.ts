import { fork } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { Pool } from "undici";
import { createHttpTransport } from "../src/adapters/transport/http/transport.ts";
import { prepareScreen } from "../src/conventions/outcome/echo.ts";
import type { HttpSend, IntentReceipt, LentCredential, SendLimits } from "../src/gateway/ports.ts";
import { Secret } from "../src/kernel/secret.ts";
import { type Bench, median, rate } from "./bench.ts";

const CALLERS = 64;
const ROUND_MS = 400;
const ROUNDS = 5;
const BODY = JSON.stringify({
  data: Array.from({ length: 8 }, (_, id) => ({ id, name: `project ${id}`, state: "active" })),
});

// The server runs in a process of its own, so that it does not share the measured thread.
if (process.env["GW_BENCH_SERVER"] === "1") {
  const server = createServer((_request, response) => {
    response.setHeader("content-type", "application/json");
    response.setHeader("x-request-id", "req_1");
    response.end(BODY);
  });
  server.keepAliveTimeout = 60_000;
  process.once("disconnect", () => process.exit());
  server.listen(0, "127.0.0.1", () => process.send?.(server.address()));
}

export const bench: Bench = {
  name: "transport",
  async run(emit) {
    const server = fork(import.meta.filename, {
      env: { ...process.env, GW_BENCH_SERVER: "1" },
      execArgv: process.execArgv,
    });
    const [address] = (await once(server, "message")) as [{ readonly port: number }];
    const origin = `http://127.0.0.1:${address.port}`;
    const token = "tok_4f9b2c7d81e64b0fa3d5";
    const transport = createHttpTransport();
    const pool = new Pool(origin, { connections: CALLERS, pipelining: 1 });
    const credential: LentCredential = {
      label: "bench",
      headerName: "authorization",
      headerValue: Secret.fromText(`Bearer ${token}`),
      secrets: [Secret.fromText(token)],
    };
    const request: HttpSend = {
      kind: "http",
      method: "GET",
      url: `${origin}/v1/projects`,
      headers: { accept: "application/json", "user-agent": "gw" },
      body: null,
      network: "private",
      ca: null,
      echo: "withhold",
    };
    const limits: SendLimits = { timeoutMs: 10_000, responseBytes: 1 << 20, signal: new AbortController().signal };
    const receipt = { frame: 1n, at: 0 } as unknown as IntentReceipt;
    const send = (lent: LentCredential | null) => async (): Promise<void> => {
      const seen = await transport.send(receipt, request, lent, limits);
      if (seen.kind !== "answered" || seen.body.byteLength !== BODY.length) throw new Error(`unexpected ${seen.kind}`);
    };
    const theirs = async (): Promise<void> => {
      const { body } = await pool.request({
        method: "GET",
        path: "/v1/projects",
        headers: { ...request.headers, authorization: `Bearer ${token}` },
      });
      if ((await body.bytes()).byteLength !== BODY.length) throw new Error("unexpected body");
    };
    const scanned = send(credential);
    const bare = send(null);
    const rates = new Map([scanned, bare, theirs].map((call) => [call, [] as number[]]));
    for (let round = 0; round <= ROUNDS; round++) {
      for (const [call, seen] of rates) {
        const found = await together(call);
        // The first round warms up.
        if (round > 0) seen.push(found);
      }
    }
    const peer = median(rates.get(theirs) ?? []);
    for (const [name, call] of [
      ["with a credential, scanned", scanned],
      ["without a credential", bare],
    ] as const) {
      const value = median(rates.get(call) ?? []);
      const beside = `undici Pool.request ${Math.round(peer)}`;
      emit({ case: `${CALLERS} concurrent, ${name}`, value, unit: "req/s", beside, ratio: value / peer });
    }
    transport.close();
    await pool.close();
    server.kill();
    scans(credential, emit);
  },
};

/** Requests per second while `CALLERS` loops each wait for their own answer. */
async function together(call: () => Promise<void>): Promise<number> {
  let calls = 0;
  const start = performance.now();
  const loop = async (): Promise<void> => {
    while (performance.now() - start < ROUND_MS) {
      await call();
      calls++;
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, loop));
  return calls / ((performance.now() - start) / 1000);
}

function scans(credential: LentCredential, emit: Parameters<Bench["run"]>[0]): void {
  const record = `{"id":"prj_01","url":"https://example.test/a?b=c","note":"plain words, numbers 12345 and a date 2026-01-01"},`;
  const escaped = record.replaceAll("plain", 'a \\"quoted\\" 100%25').replaceAll("/", "\\/");
  const needle = Buffer.from("tok_4f9b2c7d81e64b0fa3d5");
  for (const [name, unit] of [
    ["plain JSON", record],
    ["JSON full of escapes", escaped],
    ["nothing but percent escapes", "%41%42"],
  ] as const) {
    const body = Buffer.alloc(8 << 20, unit);
    const megabytes = body.byteLength / 1e6;
    const value = rate(() => prepareScreen(credential.secrets)({ headers: {}, body }, "withhold"), 600) * megabytes;
    const beside = rate(() => body.indexOf(needle), 300) * megabytes;
    emit({
      case: `scan of 8 MiB, ${name}`,
      value,
      unit: "MB/s",
      beside: "Buffer.indexOf of one needle",
      ratio: value / beside,
    });
  }
  const small = Buffer.from(BODY);
  const value = rate(() =>
    prepareScreen(credential.secrets)({ headers: { "x-request-id": "req_1" }, body: small }, "withhold"),
  );
  const beside = rate(() => small.indexOf(needle));
  emit({
    case: `scan of ${small.byteLength} bytes`,
    value,
    unit: "op/s",
    beside: "Buffer.indexOf of one needle",
    ratio: value / beside,
  });
}
