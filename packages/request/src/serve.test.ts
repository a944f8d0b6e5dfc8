import assert from "node:assert/strict";
import { test } from "node:test";
import { digestBytes } from "../../../src/kernel/canonical-json.ts";
import { Denied } from "../../../src/kernel/failure.ts";
import { seeBytes } from "./read-body.ts";
import { defineRoute } from "./route.ts";
import { asDenied, bindRoute, conclude, type Observers, type Occasion, tellRefused } from "./serve.ts";

function observe(fails = false) {
  const [records, faults] = [[] as Occasion[], [] as string[]];
  const observers = {
    onRecord: async (_record: object, occasion: Occasion) => {
      if (fails) throw new Error("the disk is full");
      records.push(occasion);
    },
    onFault: (error: unknown, id: string) => void faults.push(`${id} ${(error as Error).message}`),
  } as unknown as Observers;
  return { observers, records, faults };
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const denied = new Denied("framing_invalid", "no request");

test("bytes that never became a request are on record by size and digest, and none where none are known", async () => {
  for (const bytes of [Buffer.from("junk"), null]) {
    const { observers, records, faults } = observe();
    tellRefused(observers, null, denied, "id_1", bytes);
    await settle();
    assert.deepEqual(faults, []);
    const digest = bytes === null ? null : digestBytes(bytes);
    assert.deepEqual(
      records.map(({ body }) => body()),
      [{ digest, bytes: bytes?.length ?? 0 }],
    );
  }
});

test("a record that cannot be written is a fault that somebody hears of", async () => {
  const { observers, faults } = observe(true);
  tellRefused(observers, null, denied, "id_1", null);
  await settle();
  assert.deepEqual(faults, ["id_1 the disk is full"]);
});

test("what is no denial is told as a fault, and to whoever asked as nothing more than that", () => {
  const { observers, faults } = observe();
  assert.equal(asDenied(denied, "id_1", observers), denied);
  assert.deepEqual(faults, []);
  const told = asDenied(new Error("secret words"), "id_2", observers);
  assert.deepEqual([told.code, faults], ["internal_fault", ["id_2 secret words"]]);
  assert.ok(!told.message.includes("secret"));
});

/** A file in two pieces, to a route whose room is told how large it is; what came of it, in its order. */
async function sendFile(fit: (bytes: number) => void) {
  const { observers, records, faults } = observe();
  const events: string[] = [];
  const parts = { file: { kind: "file", filename: "refused", contentType: "optional" } } as const;
  const bound = bindRoute(defineRoute({ method: "POST", path: "/v1/files", body: { kind: "multipart", parts } }), {
    room: { aboveBytes: 10, take: () => void events.push("take"), fit: (_who, bytes) => fit(bytes) },
    openFile: () => ({
      write: (bytes) => void events.push(`write ${bytes.length}`),
      end: () => void events.push("end"),
      abort: () => void events.push("abort"),
    }),
    authorize: () => "anybody may",
    execute() {
      events.push("execute");
      return { status: 201 };
    },
  });
  const body = Buffer.from('--XX\r\nContent-Disposition: form-data; name="file"\r\n\r\nDATA\r\n--XX--\r\n');
  const rawHeaders = ["Host", "t", "Content-Type", "multipart/form-data; boundary=XX"];
  const { intake, conclude: rest } = bound.begin({ method: "POST", target: "/v1/files", rawHeaders }, undefined, "ada");
  const reply = await conclude(bound, "ada", "id_1", observers, seeBytes(), async () => {
    await intake.push(body.subarray(0, 20));
    await intake.push(body.subarray(20));
    return rest("ada", []);
  });
  return { reply, events, records, faults, bytes: body.length };
}

test("a body that asked for room once says how large it is when it has arrived, before it is carried out", async () => {
  const told: number[] = [];
  const { reply, events, bytes } = await sendFile((size) => void told.push(size));
  assert.deepEqual([reply.status, told, events], [201, [bytes], ["take", "write 4", "end", "execute"]]);
});

test("where its room fails, a body that has arrived is dropped, and nothing is carried out", async () => {
  const full = await sendFile(() => {
    throw new Denied("approvals_full", "no room");
  });
  assert.deepEqual(full.events, ["take", "write 4", "end", "abort"]);
  assert.deepEqual([full.records.map(({ denied }) => denied?.code), full.faults], [["approvals_full"], []]);
  const broken = await sendFile(() => {
    throw new Error("the room is broken");
  });
  assert.deepEqual([broken.reply.status, broken.events], [500, full.events]);
  assert.deepEqual(broken.faults, ["id_1 the room is broken"]);
});
