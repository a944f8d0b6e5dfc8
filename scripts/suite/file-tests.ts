import * as node from "node:test";

/**
 * What test files that run together get for `node:test`. What stands at the top of a file is kept until the file is loaded, and then
 * belongs to a suite of that file: a hook there is not one of all the others too.
 */
let kept: (() => unknown)[] | null = null;

function later(register: (...args: never[]) => unknown): (...args: never[]) => unknown {
  return (...args) => (kept === null ? register(...args) : kept.push(() => register(...args)));
}

export const test = later(node.test);
export const describe = later(node.describe);
export const before = later(node.before);
export const after = later(node.after);
export const beforeEach = later(node.beforeEach);
export const afterEach = later(node.afterEach);

/** Gives what stands at the top of the file that `load` loads. */
export async function keep(load: () => Promise<unknown>): Promise<() => void> {
  const own: (() => unknown)[] = [];
  kept = own;
  try {
    await load();
  } catch (error) {
    // It is the failure of a test, so that the others run.
    own.push(() => node.test("it is loaded", () => Promise.reject(error)));
  } finally {
    kept = null;
  }
  return () => {
    for (const register of own) register();
  };
}
