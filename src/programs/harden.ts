import { type HardenOptions, hardenLinux } from "../adapters/platform/linux/harden.ts";

/** The first thing every program does. Other systems get there what their adapters offer, which today is nothing. */
export function harden(options: HardenOptions): void {
  if (process.platform === "linux") hardenLinux(options);
}
