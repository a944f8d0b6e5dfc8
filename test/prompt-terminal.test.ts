import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { asUser, GW, Home, makeFolder } from "./support/home.ts";
import { noTmux, openPane } from "./support/pane.ts";

const terminal = noTmux === null ? asUser : { skip: noTmux };

test(
  "a secret comes by a pipe while its passphrase is typed, and an arrow key is no part of it",
  terminal,
  async () => {
    const folder = makeFolder();
    const home = await new Home(folder).init();
    const passphrase = readFileSync(home.passphraseFile, "utf8").trim();
    const add = `"${GW}" credential add demo --kind bearer --origin https://api.acme.example --home "${home.folder}"`;
    const command = `printf 'tok-0123456789' | ${add}; echo "LEFT $?"; sleep 600`;
    const pane = openPane(folder, command, home.environment());
    try {
      await pane.shows("Passphrase of ada:");
      pane.type("Up", "Left");
      pane.write(passphrase);
      pane.type("F5", "Enter");
      await pane.shows("LEFT 0");
      assert.ok(!pane.text().includes(passphrase.slice(0, 8)), "nothing of it is echoed");
    } finally {
      pane.close();
    }
    const listed = await home.run(["credential", "list", "--json"]);
    assert.match(listed.out, /"demo"/);
    assert.ok(!readFileSync(join(home.folder, "vault.json"), "utf8").includes("tok-0123456789"));
  },
);

test("npm start asks for a new passphrase and never a second time to unlock what it made", terminal, async () => {
  const folder = makeFolder();
  const program = join(import.meta.dirname, "..", "src", "programs", "start.ts");
  const env = {
    PATH: process.env["PATH"],
    HOME: folder,
    GW_HOME: join(folder, "gw"),
    XDG_STATE_HOME: join(folder, "state"),
  };
  const command = `"${process.execPath}" --disable-warning=ExperimentalWarning --disable-sigusr1 "${program}"`;
  const pane = openPane(folder, command, env);
  try {
    await pane.shows("Enter for a generated one");
    pane.write("own");
    pane.type("Enter");
    for (const prompt of ["New passphrase:", "Once more:"]) {
      await pane.shows(prompt);
      pane.write("a long enough phrase of somebody");
      pane.type("Enter");
    }
    await pane.shows("It runs.", 120_000);
    assert.ok(!pane.text().includes("Passphrase of"));
  } finally {
    pane.close();
  }
});
