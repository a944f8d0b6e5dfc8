import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { asUser, GW, Home, makeFolder } from "./support/home.ts";
import { noTmux, openPane, type Pane } from "./support/pane.ts";

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

test("records on a terminal hold nothing that acts there, and are the same records", terminal, async () => {
  const folder = makeFolder();
  const home = await new Home(folder).init();
  const hostile = "\u009b8m\u202egpj\u007f\u200b";
  const pack = join(folder, "acme.yaml");
  writeFileSync(
    pack,
    `format: gw.pack/v1
pack: acme
provider: { origin: https://api.acme.example, credential: acme, auth: { scheme: bearer } }
actions:
  thing.list:
    effect: read
    request: { method: GET, path: /v1/things }
    input: { state: { in: query, enum: [${JSON.stringify(hostile).replaceAll(/[\u007f-\uffff]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`)}] } }
`,
  );
  assert.equal((await home.run(["pack", "add", pack])).code, 0);
  const piped = await home.run(["pack", "show", "acme", "thing.list", "--json"]);
  assert.ok(JSON.stringify(JSON.parse(piped.out)).includes(hostile), "the record has it");
  const command = `"${GW}" pack show acme thing.list --json --home "${home.folder}"; echo "LEFT $?"; sleep 600`;
  const pane = openPane(folder, command, home.environment());
  try {
    await pane.shows("LEFT 0");
    assert.match(pane.text(), /"\\u009b8m\\u202egpj\\u007f\\u200b"/);
  } finally {
    pane.close();
  }
});

test(
  "what is said beside an answer, asked, or left of a fault holds nothing that acts on a terminal either",
  terminal,
  async () => {
    const folder = makeFolder();
    const hostile = "\u001b[2J\u001b[1;1H\u009b8m\u202egpj\r";
    const shown = "\\u001b[2J\\u001b[1;1H\\u009b8m\\u202egpj\\u000d";
    const word = join(folder, "word");
    writeFileSync(word, hostile);
    const program = join(folder, "program.mjs");
    const source = join(import.meta.dirname, "..", "src", "surfaces", "cli", "terminal.ts");
    writeFileSync(
      program,
      `const { openTerminal } = await import(${JSON.stringify(source)});
const hostile = ${JSON.stringify(hostile)};
const io = openTerminal();
io.err("said " + hostile + "\\nin two lines");
await io.ask("asked " + hostile + "?");
(await io.askSecret("hidden " + hostile + "?")).wipe?.();
const cause = new AggregateError([new Error("within " + hostile)], "because " + hostile);
throw Object.assign(new Error("thrown " + hostile, { cause }), { path: "opened " + hostile });`,
    );
    const own = `"${process.execPath}" --disable-warning=ExperimentalWarning "${program}"`;
    const env = { PATH: process.env["PATH"], HOME: folder, XDG_STATE_HOME: join(folder, "state") };
    const command = `"${GW}" "$(cat "${word}")"; ${own}; echo "LEFT $?"; sleep 600`;
    const pane = openPane(folder, command, env, { columns: 200, rows: 60 });
    try {
      await pane.shows(`asked ${shown}?`);
      assert.ok(pane.text().includes(`unknown command '${shown}'`), pane.text());
      assert.match(pane.text(), /^in two lines$/m);
      pane.type("Enter");
      await pane.shows(`hidden ${shown}?`);
      pane.type("Enter");
      await pane.shows("LEFT 1");
      for (const how of ["said", "thrown", "because", "within"]) {
        assert.ok(pane.text().includes(`${how} ${shown}`), `${how}: ${pane.text()}`);
      }
      assert.ok(pane.text().includes(`opened ${shown.replaceAll("\\", "\\\\")}`), pane.text());
    } finally {
      pane.close();
    }
  },
);

/** `npm start` with a home of its own, as far as its first question. */
async function openStart(folder: string): Promise<Pane> {
  const program = join(import.meta.dirname, "..", "src", "programs", "start.ts");
  const env = {
    PATH: process.env["PATH"],
    HOME: folder,
    GW_HOME: join(folder, "gw"),
    XDG_STATE_HOME: join(folder, "state"),
  };
  const command = `"${process.execPath}" --disable-warning=ExperimentalWarning --disable-sigusr1 "${program}"`;
  const pane = openPane(folder, `${command}; echo "LEFT $?"; sleep 600`, env);
  await pane.shows("Enter for a generated one");
  return pane;
}

async function answer(pane: Pane, prompt: string, typed: string): Promise<void> {
  await pane.shows(prompt);
  pane.write(typed);
  pane.type("Enter");
}

test("npm start asks for a new passphrase and never a second time to unlock what it made", terminal, async () => {
  const pane = await openStart(makeFolder());
  try {
    await answer(pane, "Enter for a generated one", "own");
    for (const prompt of ["New passphrase:", "Once more:"])
      await answer(pane, prompt, "a long enough phrase of somebody");
    await pane.shows("It runs.", 120_000);
    assert.ok(!pane.text().includes("Passphrase of"));
  } finally {
    pane.close();
  }
});

test(
  "npm start ends with a word where its questions are left or answered in two ways, and no home is made",
  terminal,
  async () => {
    const folder = makeFolder();
    const ways: readonly (readonly [code: string, way: (pane: Pane) => Promise<void> | void])[] = [
      ["interrupted", (pane) => pane.type("C-c")],
      ["interrupted", (pane) => pane.type("C-d")],
      [
        "interrupted",
        async (pane) => {
          await answer(pane, "Enter for a generated one", "own");
          await pane.shows("New passphrase:");
          pane.type("C-c");
        },
      ],
      [
        "secret_mismatch",
        async (pane) => {
          await answer(pane, "Enter for a generated one", "own");
          await answer(pane, "New passphrase:", "a long enough phrase of somebody");
          await answer(pane, "Once more:", "a long enough phrase of nobody");
        },
      ],
    ];
    for (const [code, way] of ways) {
      const pane = await openStart(folder);
      try {
        await way(pane);
        await pane.shows("LEFT 1");
        assert.match(pane.text(), new RegExp(`^${code}: `, "m"));
        assert.ok(!existsSync(join(folder, "gw", "vault.json")));
      } finally {
        pane.close();
      }
    }
  },
);
