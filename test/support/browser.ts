import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { makeFolder, PATIENCE_MS } from "./home.ts";
import { pictured, shots } from "./shots.ts";

/** Debian's Chromium, once for all tests of a file, and what it asked for over the network. */
export const CHROMIUM = "/usr/bin/chromium";
export const noBrowser = existsSync(CHROMIUM) ? undefined : "Chromium is not installed (apt-get install chromium)";

export interface Sight {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Every address that was asked for. */
  readonly asked: string[];
  /** What the browser complained about. */
  readonly complaints: string[];
}

/**
 * Of two such lists Chromium takes the last: what Playwright leaves out, and the pages that a window loads for its address bar, two for every
 * window, though none is shown.
 */
const WITHOUT = [
  ...["AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsUpgrades"],
  ...[
    "HttpsFirstBalancedModeAutoEnable",
    "LensOverlay",
    "MediaRouter",
    "PaintHolding",
    "ThirdPartyStoragePartitioning",
  ],
  ...["AvoidCorsURLLoaderRestartOnRedirect", "OptimizationHints", "NetworkTimeServiceQuerying", "AimEnabled"],
  ...["PreconnectToSearch", "WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "WebUIOmniboxFullPopup"],
];

export async function openBrowser(more: readonly string[] = []): Promise<Browser> {
  // A file that runs again as another user loads it there only.
  const { chromium } = await import("playwright-core");
  const features = `--disable-features=${WITHOUT.join(",")}`;
  return chromium.launch({
    executablePath: CHROMIUM,
    chromiumSandbox: false,
    args: ["--disable-gpu", "--disable-dev-shm-usage", "--force-color-profile=srgb", features, ...more],
    env: { ...process.env, HOME: makeFolder() },
  });
}

export const DESKTOP = { width: 1280, height: 860 } as const;
export const PHONE = { width: 360, height: 740 } as const;

export async function openSight(
  browser: Browser,
  url: string,
  viewport: { readonly width: number; readonly height: number } = DESKTOP,
  colorScheme: "light" | "dark" = "light",
): Promise<Sight> {
  const context = await browser.newContext({ viewport, colorScheme, acceptDownloads: true });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const asked: string[] = [];
  const complaints: string[] = [];
  page.on("request", (request) => asked.push(request.url()));
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  await page.goto(url);
  return { page, context, asked, complaints };
}

/** An authenticator that holds up a finger whenever it is asked. */
export async function addAuthenticator({ page, context }: Sight) {
  const devtools = await context.newCDPSession(page);
  await devtools.send("WebAuthn.enable");
  const { authenticatorId } = await devtools.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return {
    verify: (isUserVerified: boolean) => devtools.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified }),
    /** As a copy would be that was made when it had been used so often. */
    async countFrom(signCount: number): Promise<void> {
      const { credentials } = await devtools.send("WebAuthn.getCredentials", { authenticatorId });
      for (const credential of credentials) {
        const { credentialId } = credential;
        await devtools.send("WebAuthn.removeCredential", { authenticatorId, credentialId });
        await devtools.send("WebAuthn.addCredential", { authenticatorId, credential: { ...credential, signCount } });
      }
    },
  };
}

const RUN_AXE = `axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) =>
  violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html, any }) => html.slice(0, 160) + " " + (any[0]?.message ?? "")).join(" | ")))`;

/** What a person with other senses would stumble over, rule by rule. */
export async function findBarriers({ page }: Sight): Promise<readonly string[]> {
  // It stays with the page: half a megabyte of it is loaded once.
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate((await import("axe-core")).default.source);
  return (await page.evaluate(RUN_AXE)) as readonly string[];
}

/** A picture, where somebody wants to look: drawing it takes as long as half of what the page does meanwhile. */
export async function shoot({ page }: Sight, name: string): Promise<void> {
  if (pictured) await page.screenshot({ path: join(shots, `${name}.png`) });
}
