import assert from "node:assert/strict";
import { test } from "node:test";
import { asUser, codeOf, GW, Home, type Members, makeFolder, start, within } from "./support/home.ts";

/** Where a box cannot be had nothing runs, nobody is asked, and the words say what mends it. No gateway is needed for that. */
const skip = asUser;
const NONE_ALLOWED = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"';

async function under(prefix: readonly string[], args: readonly string[]) {
  const home = new Home(makeFolder());
  const run = start([...prefix, GW, "--home", home.folder, ...args], { env: home.environment() });
  return within(run.exited, 120_000, "it ends");
}

const without = ["unshare", "--user", "--map-current-user", "--keep-caps", "sh", "-c", NONE_ALLOWED, "sh"];

test("without user namespaces a contained run does not run, and names the setting", skip, async () => {
  const done = await under(without, ["run", "--contain", "--", "echo", "ran"]);
  assert.equal(done.code, 1);
  assert.equal(codeOf(done), "contain_unavailable");
  assert.match(done.err, /user\.max_user_namespaces/);
  assert.equal(done.out, "");
});

test(
  "where the kernel forbids them, as in a container, a contained run does not run, and says who forbids it",
  skip,
  async () => {
    // From below another root nobody may make a user namespace: EPERM, whatever the settings allow.
    const elsewhere = `mount --rbind / "$0" && exec chroot "$0" sh -c 'cd "$0" && exec "$@"' "$PWD" "$@"`;
    const below = ["unshare", "--user", "--map-current-user", "--keep-caps", "--mount", "sh", "-c", elsewhere];
    const done = await under([...below, makeFolder()], ["run", "--contain", "--", "echo", "ran"]);
    assert.equal(done.code, 1, done.err);
    assert.equal(codeOf(done), "contain_unavailable");
    assert.match(done.err, /not permitted|EPERM/i);
    assert.match(done.err, /apparmor|unprivileged_userns|let the container make namespaces/);
    assert.equal(done.out, "");
  },
);

test("gw doctor says so too, and names the same setting", skip, async () => {
  const rows = async (prefix: readonly string[]): Promise<Members | undefined> => {
    const { out } = await under(prefix, ["doctor", "--json"]);
    return (JSON.parse(out) as readonly Members[]).find(({ name }) => name === "contained runs");
  };
  const missing = await rows(without);
  assert.equal(missing?.["state"], "warning");
  assert.match(String(missing?.["mend"]), /user\.max_user_namespaces/);
  assert.equal((await rows([]))?.["state"], "ok");
});

test("root is refused", skip, async () => {
  const done = await under(["unshare", "--user", "--map-root-user"], ["run", "--contain", "--", "echo", "ran"]);
  assert.equal(codeOf(done), "contain_unavailable");
  assert.equal(done.out, "");
});

test("a folder that would make everything writable is refused, and so is the home of the gateway", skip, async () => {
  for (const folder of ["/", "HOME"]) {
    const home = await new Home(makeFolder()).init();
    const at = folder === "HOME" ? home.folder : folder;
    const command = [GW, "--home", home.folder, "run", "--contain", "--write", at, "--", "true"];
    const done = await within(start(command, { env: home.environment() }).exited, 120_000, "it ends");
    assert.equal(codeOf(done), "contain_unavailable", at);
  }
});
