/**
 * A machine of its own for tools that insist on well-known names: started in fresh user, network and mount namespaces in
 * which api.github.com, github.com and two registries are loopback, it runs a provider on port 443, the real gateway with the
 * shipped packs, but for who is asked, and one box with the commands that it is given on standard input, one a line. It answers with one JSON line a command.
 */
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import { dirname, join } from "node:path";
import { createSecureContext } from "node:tls";
import { createAuthority } from "../../../src/conventions/box/authority.ts";
import { startContained } from "../box.ts";
import { answerGit } from "../git-host.ts";
import { answerDocument } from "../github/graphql.ts";
import { answerRest } from "../github/rest.ts";
import { Home, type Members, makeFolder, SECRET } from "../home.ts";
import { makeRegistry, wheelsPack } from "./registry.ts";

const shipped = join(dirname(dirname(dirname(import.meta.dirname))), "packs");
const folder = makeFolder();
const caFile = join(folder, "ca.pem");
const authority = createAuthority({ wallMs: () => Date.now() }, { bytes: (length) => randomBytes(length) });
writeFileSync(caFile, authority.certificate);
const contextOf = (host: string) => createSecureContext({ key: authority.leafKey, cert: authority.chainFor(host) });

const repositories = join(folder, "repositories");
mkdirSync(join(repositories, "octo-org"), { recursive: true });
seedRepository(join(repositories, "octo-org", "app.git"));
const git = answerGit(repositories, SECRET);
const registry = makeRegistry(folder);
const credentials: string[] = [];
const provider = createServer(
  {
    key: authority.leafKey,
    cert: authority.chainFor("api.github.com"),
    SNICallback: (name, done) => done(null, contextOf(name)),
  },
  async (request, response) => {
    if (request.headers.host === "github.com") return git(request, response);
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    credentials.push(String(request.headers.authorization));
    if (request.headers.host !== "api.github.com") return registry.answer(request, Buffer.concat(chunks), response);
    const { pathname } = new URL(request.url ?? "/", "https://api.github.com");
    if (pathname === "/graphql") {
      const { query } = JSON.parse(Buffer.concat(chunks).toString("utf8")) as { readonly query: string };
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answerDocument(query)));
      return;
    }
    const { status, type, text } = answerRest(request.method ?? "", pathname, String(request.headers.accept));
    response.writeHead(status, { "content-type": type }).end(text);
  },
);
await new Promise<void>((resolve) => provider.listen(443, "127.0.0.1", resolve));

const home = await new Home(makeFolder()).init();
await home.addCredential("github", "https://api.github.com");
await home.addCredential("github-git", "https://github.com");
await home.addCredential("npm", "https://registry.example");
await home.addCredential("wheels", "https://wheels.example");
for (const name of ["github", "gh", "git", "npm", "wheels"]) {
  const given = name === "wheels" ? wheelsPack : readFileSync(join(shipped, `${name}.yaml`), "utf8");
  const text = given.replace("  tolerates: [npm-", "  credential: npm\n  auth: { scheme: bearer }\n  tolerates: [npm-");
  const quiet = text.replaceAll(/^ {4}(?:needs: \{ approval: each_use \}|preview: none)\n/gm, "");
  const bearer = quiet.replace("{ scheme: basic }", "{ scheme: bearer }");
  await home.trustPack(
    name,
    bearer.replace("  auth: {", `  network: private\n  ca: ${caFile}\n  auth: {`),
    name === "gh" ? ["--beside", "github"] : [],
  );
}
const gateway = await home.up();
const commands = readFileSync(0, "utf8").split("\n").filter(Boolean);
const work = join(folder, "work");
mkdirSync(work);
const script = join(work, "all.sh");
const lines = commands.map(
  (command, at) =>
    `timeout 60 sh -c ${quoted(command)} > ${work}/${at}.out 2> ${work}/${at}.err < /dev/null; echo $? > ${work}/${at}.code`,
);
writeFileSync(
  script,
  `export HOME=/tmp GH_PROMPT_DISABLED=1 GH_NO_UPDATE_NOTIFIER=1 NO_COLOR=1\n${lines.join("\n")}\n`,
);
const run = startContained(home, ["sh", script], {
  folder: work,
  extra: ["--attempts", "500", "--side-effects", "100", "--minutes", "30"],
});
let ended = false;
void run.exited.then(() => {
  ended = true;
});
while (!ended) {
  const waiting = await Promise.race([home.approvals().catch(() => []), run.exited.then((): readonly Members[] => [])]);
  for (const { approval_id: id } of waiting) await home.approve(String(id)).catch(() => undefined);
}
for (const [at, command] of commands.entries()) {
  const read = (kind: string) => readFileSync(join(work, `${at}.${kind}`), "utf8");
  console.log(JSON.stringify({ command, code: Number(read("code")), out: read("out"), err: read("err") }));
}
const refusals = run.err();
console.log(
  JSON.stringify({
    ended: (await run.exited).code,
    refusals,
    foreign: credentials.some((one) => one !== `Bearer ${SECRET}`),
    published: registry.published,
  }),
);
await gateway.end("SIGTERM");
process.exit(0);

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** A bare repository with one commit. */
function seedRepository(path: string): void {
  const person = { NAME: "ada", EMAIL: "ada@example.org" };
  const env = Object.fromEntries(
    Object.entries(person).flatMap(([name, value]) =>
      [`GIT_AUTHOR_${name}`, `GIT_COMMITTER_${name}`].map((key) => [key, value]),
    ),
  );
  const script = `git init -q --bare -b main "$0" && cd "$0" && c=$(git commit-tree -m one $(git mktree < /dev/null)) && git update-ref refs/heads/main $c && git config http.receivepack true`;
  const { status, stderr } = spawnSync("sh", ["-c", script, path], {
    env: { ...process.env, ...env },
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(stderr);
}
