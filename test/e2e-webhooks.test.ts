import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { answerJson } from "./support/consequential.ts";
import {
  asUser,
  codeOf,
  demoPack,
  type Gateway,
  Home,
  type Members,
  makeFolder,
  openPlane,
  until,
} from "./support/home.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";
import { idOf } from "./support/reply.ts";

const KEY = Buffer.alloc(32, 9);

describe("a webhook is told that a card waits", asUser, () => {
  let home: Home;
  let provider: TestProvider;
  let receiver: TestProvider;
  let gateway: Gateway;

  before(async () => {
    provider = await startProvider();
    receiver = await startProvider();
    home = await new Home(makeFolder()).init();
    await home.addCredential("demo-token", provider.origin);
    await home.trustPack("demo", demoPack(provider.origin));
    gateway = await home.up();
  });
  after(async () => {
    await gateway?.end();
    await provider?.close();
    await receiver?.close();
  });

  const add = async (name: string, format: string, path: string, secret: readonly string[] = []): Promise<void> => {
    const words = ["webhook", "add", name, "--format", format, "--url", `${receiver.origin}${path}`];
    await home.must([...words, ...secret, "--network", "private"]);
  };
  const keep = async (label: string, text: string, kind: readonly string[]): Promise<void> => {
    await home.must(["credential", "add", label, ...kind], { input: text });
  };
  const messageOf = (path: string) => receiver.received.find(({ url }) => url === path);

  /** An agent asks; whoever is told is told meanwhile; then a person says no. */
  async function askAndWait(paths: readonly string[]): Promise<string> {
    const agent = openPlane(home.agentSocket);
    try {
      const opened = await agent.ask("POST", "/v1/runs", { purpose: "unheard words", actions: ["demo.thing.make"] });
      assert.equal(opened.status, 202, opened.text);
      const [approval] = await home.approvals();
      const id = idOf(approval, "approval_id");
      for (const path of paths) await until(`${path} is told`, () => messageOf(path) !== undefined);
      await home.must(["deny", id, "--reason", "seen"]);
      return id;
    } finally {
      agent.close();
    }
  }

  test("with a signature of Standard Webhooks that its receiver can check, again under the same id where it was not taken, and no argument", async () => {
    await keep("oncall-key", `whsec_${KEY.toString("base64")}`, ["--kind", "hmac", "--pack", "webhook-oncall"]);
    await add("oncall", "standard", "/hooks/gw", ["--secret", "oncall-key"]);
    let times = 0;
    receiver.answer((_request, response) => answerJson(response, ++times === 1 ? 503 : 200, {}));
    const agent = openPlane(home.agentSocket);
    const opened = await agent.ask("POST", "/v1/runs", { purpose: "unheard words", actions: ["demo.thing.get"] });
    assert.equal(opened.status, 202, "nobody waits for a receiver");
    await until("it is told twice", () => receiver.received.length >= 2);
    const [first, second] = receiver.received;
    assert.ok(first !== undefined && second !== undefined);
    for (const { headers, body } of [first, second]) {
      const [id, at, given] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) => headers[name]);
      const mac = createHmac("sha256", KEY).update(`${id}.${at}.`).update(body).digest("base64");
      assert.equal(given, `v1,${mac}`);
    }
    assert.equal(first.headers["webhook-id"], second.headers["webhook-id"]);
    const { type, data } = JSON.parse(String(first.body)) as { type: string; data: Members };
    const [approval] = await home.approvals();
    assert.deepEqual([type, data["approval_id"]], ["approval.waiting", approval?.["approval_id"]]);
    assert.match(String(data["link"]), /^http:\/\/gw\.localhost:7717\/#\/waiting\/apr_/);
    assert.ok(!String(first.body).includes("unheard words"), "nothing that the agent wrote");
    await home.must(["deny", idOf(approval, "approval_id"), "--reason", "seen"]);
    agent.close();
    const ended = await home.events("webhook_ended");
    assert.deepEqual(
      ended.map(({ attempt, result }) => [attempt, result]),
      [
        [1, "refused"],
        [2, "delivered"],
      ],
    );
    await home.must(["webhook", "remove", "oncall"]);
  });

  test("as Slack, Teams and ntfy take it, with the secret in the address or beside it, and in no file of policy", async () => {
    receiver.answer(({ url }, response) => answerJson(response, url === "/gone" ? 404 : 200, {}));
    await add("gone", "ntfy", "/gone");
    const bearer = ["--kind", "bearer", "--origin", receiver.origin];
    await keep("slack-end", "T00/B00/sl4ck-s3cret-end", bearer);
    await keep("teams-end", "workflows/t3ams/run?sig=t3ams-s3cret", bearer);
    await keep("ntfy-token", "tk_ntfy-s3cret-token", bearer);
    await add("chat", "slack", "/services/{secret}", ["--secret", "slack-end"]);
    await add("team", "teams", "/{secret}", ["--secret", "teams-end"]);
    await add("phone", "ntfy", "/gw-cards", ["--secret", "ntfy-token"]);
    const listed = await home.run(["webhook", "list"]);
    assert.match(listed.out, /^chat {2}slack .*\{secret\}$/m);
    assert.ok(!listed.out.includes("s3cret"));
    const paths = ["/services/T00/B00/sl4ck-s3cret-end", "/workflows/t3ams/run?sig=t3ams-s3cret", "/gw-cards"];
    const id = await askAndWait([...paths, "/gone"]);
    const [slack, teams, ntfy] = paths.map(messageOf);
    assert.match(
      (JSON.parse(String(slack?.body)) as { text: string }).text,
      new RegExp(`demo\\.thing\\.make[^]*${id}`),
    );
    const card = JSON.parse(String(teams?.body)) as {
      attachments: readonly { contentType: string; content: Members }[];
    };
    assert.equal(card.attachments[0]?.contentType, "application/vnd.microsoft.card.adaptive");
    assert.equal(card.attachments[0]?.content["type"], "AdaptiveCard");
    assert.equal(ntfy?.headers["authorization"], "Bearer tk_ntfy-s3cret-token");
    assert.match(String(ntfy?.headers["click"]), new RegExp(`/#/waiting/${id}$`));
    const log = JSON.stringify(await home.events("webhook_sending", "webhook_ended", "policy_changed"));
    assert.ok(!log.includes("s3cret"));
    assert.match(log, /webhook phone added/);
    const said = async (): Promise<string> => (await home.run(["status"])).out;
    await until("the end of each try is known", async () => (await said()).split("told at").length === 5);
    assert.match(await said(), /^ {2}webhook {3}phone: told at 20\S+$/m);
    assert.match(await said(), /^ {2}WEBHOOK {3}gone was not told at 20\S+: refused, 404 \(/m);
  });

  test("is not signed without its secret, over plain HTTP to the network, or under a name that stands", async () => {
    const base = ["webhook", "add", "no", "--url", "https://hooks.example.com/gw"];
    for (const [words, why] of [
      [base, /needs a secret of the vault/],
      [["webhook", "add", "no", "--url", "hooks.example.com/gw"], /as a URL parser would write it/],
      [[...base, "--secret", "nothing"], /has sealed no hmac credential nothing.*--pack webhook-no/],
      [
        [...base, "--secret", "slack-end"],
        /slack-end of the vault(?!.*gw credential add slack-end).*--pack webhook-no/,
      ],
      [["webhook", "add", "no", "--url", "http://hooks.example.com/x", "--format", "ntfy"], /https/],
      [["webhook", "add", "phone", "--url", "https://ntfy.example.com/x", "--format", "ntfy"], /already/],
    ] as const) {
      const refused = await home.run(words);
      assert.equal(codeOf(refused), "webhook_invalid", refused.err);
      assert.match(refused.err, why);
    }
  });
});
