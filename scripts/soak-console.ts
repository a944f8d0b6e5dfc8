import { startSoak } from "../test/e2e-soak.ts";
import { DESKTOP, noBrowser, openBrowser, openSight } from "../test/support/browser.ts";
import { freePort, go, startConsole } from "../test/support/console.ts";
import { call, openRun, until } from "../test/support/home.ts";

interface Frames {
  readonly worst: number;
  readonly median: number;
  readonly p95: number;
  readonly rows: number;
}

/**
 * A hundred thousand calls of a real gateway, or as many as the argument says, opened in the console and scrolled from the newest to
 * the oldest in a real browser. What it prints are figures of this machine; the soak fails where a row is missing or the page complains.
 */
const calls = Number(process.argv[2] ?? 100_000);
/** A caller has at most 16 open runs. */
const RUN = 10_000;
const STEPS = 200;

/** From top to bottom, a step a frame, as fast as the browser draws. */
const SCROLL = `{
  const box = document.querySelector(".scroll");
  const took = [];
  let rows = 0, last = performance.now(), step = 0;
  const draw = (now) => {
    took.push(now - last);
    last = now;
    rows = Math.max(rows, box.querySelectorAll("li").length);
    if (step++ === STEPS) {
      took.sort((a, b) => a - b);
      return void (window.scrolled = { worst: took.at(-1), median: took[took.length >> 1], p95: took[Math.floor(took.length * 0.95)], rows });
    }
    box.scrollTop = (box.scrollHeight - box.clientHeight) * step / STEPS;
    requestAnimationFrame(draw);
  };
  requestAnimationFrame(draw);
}`;

if (noBrowser !== undefined) {
  console.log(noBrowser);
  process.exit(0);
}
const { home, provider, gateway, agent } = await startSoak();
const browser = await openBrowser();
const served = startConsole(home, await freePort());
try {
  const began = performance.now();
  for (let made = 0; made < calls; made += RUN) {
    const count = Math.min(RUN, calls - made);
    const budget = { attempts: count, side_effects: 0, duration_seconds: 3_600, spend_cents: 0 };
    const run = await openRun(home, agent, ["demo.thing.get"], budget);
    let next = made;
    const worker = async (): Promise<void> => {
      while (next < made + count) {
        const { body } = await call(agent, run, "demo.thing.get", { id: `t${next++}` }, 60);
        if (body["outcome"] !== "success") throw new Error(JSON.stringify(body));
      }
    };
    await Promise.all(Array.from({ length: 32 }, worker));
  }
  console.log(`${calls} calls made in ${Math.round((performance.now() - began) / 1000)} s`);

  const { page, complaints } = await openSight(browser, await served.nextLink(), DESKTOP);
  await page.getByText("connected").waitFor();
  const opened = performance.now();
  await go({ page } as never, "#/activity");
  await page.locator("li.entry a").first().waitFor();
  console.log(`the newest calls stood there after ${Math.round(performance.now() - opened)} ms`);
  const older = performance.now();
  const further = page.getByRole("button", { name: "Read further back" });
  while ((await further.count()) > 0) {
    await further.click();
    await page.locator("progress").waitFor({ state: "detached", timeout: 600_000 });
  }
  console.log(`all of it after ${Math.round((performance.now() - older) / 1000)} s more`);
  const about = await page.locator(".activity p[role=status]").textContent();
  console.log(`it says: ${about}`);

  await page.evaluate(SCROLL.replaceAll("STEPS", String(STEPS)));
  const frames = await until<Frames>(
    "it is scrolled",
    async () => (await page.evaluate("window.scrolled ?? false")) as Frames | false,
    600_000,
  );
  await page.locator("li.entry a").last().waitFor();
  console.log(
    `scrolled through ${STEPS} screens: a frame took ${frames.median.toFixed(1)} ms in the median, ${frames.p95.toFixed(1)} ms for 95 of 100, and ${frames.worst.toFixed(1)} ms at worst, with ${frames.rows} rows in the page`,
  );
  const searched = performance.now();
  await page.getByLabel("Search").fill(`/v1/things/t${Math.floor(calls / 2)}`);
  await page.getByText(/^1 of /).waitFor({ timeout: 120_000 });
  console.log(`one call of the middle found after ${Math.round(performance.now() - searched)} ms`);
  if (complaints.length > 0) throw new Error(complaints.join("\n"));
} finally {
  await browser.close();
  await served.program.end();
  agent.close();
  await gateway.end();
  await provider.close();
}
