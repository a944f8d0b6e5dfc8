import assert from "node:assert/strict";
import { createHash, createPublicKey, randomBytes } from "node:crypto";
import { chmodSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { connect } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Browser } from "playwright-core";
import { createAuthority } from "../src/conventions/box/authority.ts";
import { addAuthenticator, noBrowser, openBrowser, openSight, PHONE, type Sight } from "./support/browser.ts";
import { type Console, clean, freePort, go, ownComplaints, press, says, startConsole } from "./support/console.ts";
import {
  type AgentProcess,
  asUser,
  codeOf,
  demoPack,
  type Gateway,
  Home,
  makeFolder,
  startAgent,
} from "./support/home.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";
import { idOf } from "./support/reply.ts";

const able = noBrowser === undefined ? asUser : { skip: noBrowser };
const NAME = "gw.home.example";
const ADDRESS = "127.0.0.5";

/** For a phone: another address, TLS with a certificate of a self-made authority, a passkey instead of a link. */
describe("gw console --listen", able, () => {
  const folder = makeFolder();
  const files = { cert: join(folder, "cert.pem"), key: join(folder, "key.pem") };
  const tls = ["--tls-cert", files.cert, "--tls-key", files.key];
  let provider: TestProvider;
  let home: Home;
  let gateway: Gateway;
  let served: Console;
  let browser: Browser;
  let phone: Sight;
  let port: number;
  let bearer = "";
  const agents: AgentProcess[] = [];

  const askFor = async (purpose: string, actions = ["demo.thing.get", "demo.thing.make"]): Promise<string> => {
    const agent = await startAgent(home);
    agents.push(agent);
    const asked = { purpose, actions, budget: {} };
    const { body, status, text } = await agent.ask("POST", "/v1/runs", asked);
    assert.equal(status, 202, text);
    return idOf(body, "approval_id");
  };
  const knock = (method: string, path: string, body: object = {}, headers: Readonly<Record<string, string>> = {}) =>
    knockTls(port, method, path, { host: `${NAME}:${port}`, origin: served.origin, ...headers }, body);

  before(async () => {
    const authority = createAuthority({ wallMs: () => Date.now() }, { bytes: (length) => randomBytes(length) });
    writeFileSync(files.cert, authority.chainFor(NAME));
    writeFileSync(files.key, authority.leafKey, { mode: 0o600 });
    const spki = createPublicKey(authority.leafKey).export({ type: "spki", format: "der" });
    provider = await startProvider();
    home = await new Home(makeFolder()).init();
    await home.addCredential("demo-token", provider.origin);
    await home.trustPack("demo", demoPack(provider.origin));
    gateway = await home.up();
    port = await freePort();
    const origin = `https://${NAME}:${port}`;
    served = startConsole(home, port, ["--listen", ADDRESS, "--origin", origin, ...tls, "--enrol"], origin);
    browser = await openBrowser([
      `--host-resolver-rules=MAP ${NAME} ${ADDRESS}`,
      `--ignore-certificate-errors-spki-list=${createHash("sha256").update(spki).digest("base64")}`,
    ]);
  });

  after(async () => {
    for (const agent of agents) agent.close();
    await browser?.close();
    await served?.program.end();
    await gateway?.end();
    await provider?.close();
  });

  test("wants one address, a name under https, and a key that nobody else can read", async () => {
    const tried = async (...words: string[]): Promise<string> => {
      return codeOf(await home.run(["console", "--passphrase-file", home.passphraseFile, ...words]));
    };
    const origin = ["--origin", `https://${NAME}`];
    assert.equal(await tried("--listen", ADDRESS), "value_not_allowed");
    assert.equal(await tried("--listen", "0.0.0.0", ...origin, ...tls), "value_not_allowed");
    assert.equal(await tried("--listen", ADDRESS, "--origin", `http://${NAME}`, ...tls), "value_not_allowed");
    assert.equal(await tried("--listen", ADDRESS, "--origin", `https://${NAME}/x`, ...tls), "value_not_allowed");
    assert.equal(await tried("--listen", ADDRESS, "--origin", "https://127.0.0.5", ...tls), "value_not_allowed");
    assert.equal(await tried(...origin), "value_not_allowed");
    const open = join(folder, "open.pem");
    writeFileSync(open, "x");
    chmodSync(open, 0o644);
    const shown = await tried("--listen", ADDRESS, ...origin, "--tls-cert", files.cert, "--tls-key", open);
    assert.equal(shown, "file_permissions_open");
    const other = ["--origin", "https://other.example:7718", ...tls];
    assert.equal(await tried("--listen", ADDRESS, ...other), "value_not_allowed", "the certificate has another name");
    const mine = ["--origin", served.origin, ...tls];
    const ask = await home.run(["console", "--listen", ADDRESS, ...mine]);
    assert.equal(codeOf(ask), "console_port_taken", "before a secret is asked for");
  });

  test("opens with its link to enrol a passkey and for nothing else, and from then on to that passkey", async () => {
    phone = await openSight(browser, await served.nextLink(), PHONE);
    phone.page.on("request", (asked) => {
      bearer = asked.headers()["authorization"] ?? bearer;
    });
    await addAuthenticator(phone);
    await says(phone, /Enrol a passkey of ada/);
    await clean(phone, "remote-enrol");
    for (const [method, path] of [
      ["GET", "/api/activity"],
      ["GET", "/api/policy"],
      ["POST", "/api/policy/set"],
      ["POST", "/api/sessions/ses_1/revoke"],
    ] as const) {
      assert.equal((await knock(method, path, {}, { authorization: bearer })).code, "console_only_here", path);
    }
    const linked = bearer;
    await phone.page.getByLabel("Name of the new one").fill("phone");
    await phone.page.getByRole("button", { name: "Enrol a passkey" }).click();
    await says(phone, /Enrolled\. Your key signed for it/);
    assert.match((await home.run(["passkey", "list"])).out, /phone {2}ada/);
    const again = await knock("POST", "/api/passkeys/begin", {}, { authorization: linked });
    assert.equal(again.code, "console_not_entered", "a link enrols once");
    await phone.page.getByRole("button", { name: "Log in with a passkey" }).click();
    await says(phone, /Nothing waits for you/);
    await clean(phone, "remote-waiting-empty");
  });

  test("decides with the passkey alone, and takes nothing that is typed", async () => {
    const id = await askFor("from the train");
    await go(phone, `#/waiting/${id}`);
    await press(phone, /Approve with passkey/);
    await says(phone, new RegExp(`${id} is approved`));
    await clean(phone, "remote-approved");
    const shown = JSON.parse((await home.must(["activity", "show", id, "--json"])).out);
    assert.equal(shown.approvals[0].decision.passkey, "verifies");
    const denied = await askFor("to be refused");
    await go(phone, `#/waiting/${denied}`);
    assert.equal(await phone.page.getByRole("button", { name: /grant/ }).count(), 0);
    await press(phone, /Deny/);
    await phone.page.getByRole("dialog").getByRole("button", { name: "Deny" }).click();
    await says(phone, /is denied/);
    for (const screen of ["now", "activity", "charts", "log"]) {
      await go(phone, `#/${screen}`);
      await phone.page.locator("main h2").first().waitFor();
      await clean(phone, `remote-${screen}`);
      assert.equal(await phone.page.locator("input[type=password]").count(), 0);
    }
    const key = { authorization: bearer };
    for (const path of [
      "/api/credentials/add",
      "/api/credentials/rotate",
      "/api/credentials/bind",
      "/api/policy/set",
      "/api/grants",
      "/api/packs/demo/trust",
      "/api/passkeys/begin",
      "/api/passkeys/finish",
      "/api/operations/opn_1/cancel",
      "/api/operations/opn_1/resume",
    ]) {
      assert.equal((await knock("POST", path, { secret: "whatever" }, key)).code, "console_only_here", path);
    }
    for (const path of [
      "credentials",
      "packs",
      "packs/demo/review",
      "policy",
      "grants",
      "passkeys",
      "log/checkpoint",
    ]) {
      assert.equal((await knock("GET", `/api/${path}`, {}, key)).code, "console_only_here", path);
    }
    assert.deepEqual(ownComplaints(phone), []);
  });

  test("ends the page of a passkey that is removed, at once and to its stream too", async () => {
    const id = await askFor("by hand", ["demo.thing.get"]);
    const [card] = (await home.approvals()).filter(({ approval_id }) => approval_id === id);
    await home.must(["passkey", "remove", "phone"]);
    const drafted = await knock(
      "POST",
      `/api/approvals/${id}/draft`,
      { decision: "approve", card_digest: card?.["card_digest"], narrow: null },
      { authorization: bearer },
    );
    assert.deepEqual([drafted.status, drafted.code], [401, "console_not_entered"]);
    await says(phone, /This console opens to its operator's passkey/);
  });

  test("answers at its address, under its name, to its own page, and lets nobody try for long", async () => {
    await assert.rejects(
      new Promise((resolve, reject) => connect(port, "127.0.0.1", () => resolve("connected")).on("error", reject)),
      /ECONNREFUSED/,
    );
    assert.equal((await knock("GET", "/api/me")).status, 401);
    assert.equal((await knock("GET", "/", {}, { host: `${ADDRESS}:${port}` })).code, "console_origin_foreign");
    const foreign = { origin: "https://evil.example" };
    assert.equal((await knock("POST", "/api/login/begin", {}, foreign)).code, "console_origin_foreign");
    const begun = await knock("POST", "/api/login/begin");
    assert.deepEqual(begun.body["credentials"], [], "a stranger is told of no passkey");
    const bad = { challenge: begun.body["challenge"], assertion: {} };
    assert.equal((await knock("POST", "/api/login/finish", bad)).status, 422);
    assert.equal((await knock("POST", "/api/login/finish", bad)).code, "console_draft_gone");
    const codes: string[] = [];
    for (let tries = 0; tries < 20; tries++) codes.push((await knock("POST", "/api/login/begin")).code);
    assert.equal(codes.at(-1), "console_login_busy");
  });
});

interface Knocked {
  readonly status: number;
  readonly code: string;
  readonly body: Readonly<Record<string, unknown>>;
}

function knockTls(
  port: number,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: object,
): Promise<Knocked> {
  return new Promise((resolve, reject) => {
    const json = { ...headers, ...(method === "POST" ? { "content-type": "application/json" } : {}) };
    const options = { host: ADDRESS, port, method, path, headers: json, setHost: false, rejectUnauthorized: false };
    const sent = request({ ...options, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => {
        const text = Buffer.concat(chunks).toString("utf8");
        const answer = text.startsWith("{") ? (JSON.parse(text) as Readonly<Record<string, unknown>>) : {};
        resolve({ status: response.statusCode ?? 0, code: String(answer["code"] ?? ""), body: answer });
      });
    });
    sent.on("error", reject);
    sent.end(method === "POST" ? JSON.stringify(body) : undefined);
  });
}
