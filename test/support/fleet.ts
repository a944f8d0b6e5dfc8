import { type Home, until } from "./home.ts";

/**
 * Until all hosts follow the same policy. What is signed on two of them at one moment stands beside each other until a person decides,
 * so that nothing more is signed before.
 */
export async function untilFollowed(...homes: readonly Home[]): Promise<void> {
  await until("all follow the same policy", async () => {
    const versions = await Promise.all(homes.map(async (home) => (await home.status())["policy_version"]));
    return new Set(versions).size === 1;
  });
}
