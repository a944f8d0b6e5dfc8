import { mayContinue, type SessionEnding } from "../../conventions/caller/session.ts";
import { namesAction } from "../../conventions/grant/grant.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import type { Definition } from "../../gateway/outbound/outbound.ts";
import type { LiveCaller } from "../../gateway/ports.ts";
import type { Run, Session } from "../../gateway/run/run.ts";
import { showBounded } from "../../kernel/display.ts";
import { Denied } from "../../kernel/failure.ts";
import type { BridgeOptions } from "./bridge.ts";

/**
 * The one run of a bridge. It is opened by the first call and never by connecting, because clients start siblings that
 * only look around; when it is over, the next call opens another, with a new card. Below a `gw run` the bridge is one of
 * the programs that a person already approved, and acts in that run for as long as it stands.
 */
export interface RunDoor {
  /** The run that stands, or a new one that a person is asked about now, for what its first call needs. */
  enter(purpose: string, needed: readonly string[], follows: "call" | "nothing"): Promise<Run>;
  readonly run: Run | null;
  /** Set once a person has approved, for as long as it stands. */
  session(): Session | null;
  /** What may be called: what was granted, or what a person may be asked for. */
  definitions(): readonly Definition[];
  /** False once the program that the bridge speaks for is gone. */
  parentLives(): boolean;
  leave(reason: SessionEnding): Promise<void>;
}

export function createRunDoor(gateway: Gateway, caller: LiveCaller, options: BridgeOptions): RunDoor {
  const parent = caller.ancestry()[0];
  const notes = [
    "an MCP bridge (gw mcp): it speaks for whoever holds its input",
    parent === undefined
      ? "its parent cannot be told"
      : `it was started by process ${parent.pid}, ${parent.path === null ? "whose program cannot be read" : `which runs ${showBounded(parent.path, 200)}`} (context only: nothing vouches for it)`,
  ];
  let run: Run | null = null;
  let opening: Promise<Run> | null = null;
  let left = false;

  const asked = (): readonly Definition[] => {
    const { actions } = options;
    const all = gateway.actions();
    if (actions === null) return all;
    return all.filter(({ action }) => namesAction(actions, action.qualifiedName));
  };

  function session(): Session | null {
    if (run === null || run.state !== "open") return null;
    const found = run.sessions.get(caller.key);
    return found === undefined || !mayContinue(found) ? null : found;
  }

  /** The wrapper's run, where the kernel says that the wrapper started this bridge. */
  async function findWrapper(): Promise<Run | null> {
    if (options.wrapped === null) return null;
    try {
      const found = gateway.run(caller, options.wrapped);
      return found.state === "open" ? await gateway.joinRun(caller, found.id) : null;
    } catch (error) {
      if (error instanceof Denied && error.code === "not_found") return null;
      throw error;
    }
  }

  /** What a person granted to the wrapper is what the bridge has to offer. */
  function wrapperSession(): Session | null {
    if (options.wrapped === null) return null;
    try {
      const found = gateway.run(caller, options.wrapped);
      return found.state === "open" ? (found.sessions.get(found.ownerKey) ?? null) : null;
    } catch {
      return null;
    }
  }

  async function open(purpose: string, needed: readonly string[], opensWithCall: boolean): Promise<Run> {
    const wrapper = await findWrapper();
    if (wrapper !== null) {
      run = wrapper;
      return wrapper;
    }
    // Whoever set the bridge up may have named its actions; otherwise nobody is asked for more than a call needs.
    const asksAsItGoes = options.actions === null;
    const actions = asksAsItGoes ? needed : asked().map(({ action }) => action.qualifiedName);
    const next = await gateway.openRun(caller, {
      ...{ purpose, actions, limits: options.limits, notes, opensWithCall, asksAsItGoes },
    });
    run = next;
    // The bridge went away while its run was being written down.
    if (left) await gateway.leaveRun(caller, next.id, "connection_closed");
    return next;
  }

  return {
    enter(purpose, needed, follows) {
      if (run !== null && run.state !== "ended") return Promise.resolve(run);
      opening ??= open(purpose, needed, follows === "call").finally(() => {
        opening = null;
      });
      return opening;
    },
    get run() {
      return run;
    },
    session,
    definitions() {
      const standing = session() ?? wrapperSession();
      if (standing === null || run?.asksAsItGoes === true) return asked();
      const granted = new Set(standing.scope.actions.map(({ action }) => action));
      return gateway.actions().filter(({ action }) => granted.has(action.qualifiedName));
    },
    parentLives() {
      if (parent === undefined) return true;
      const now = caller.ancestry()[0];
      // Nothing at all means that the chain moved while it was walked: the next look tells.
      return now === undefined || (now.pid === parent.pid && now.startTime === parent.startTime);
    },
    async leave(reason) {
      left = true;
      if (run === null || run.state === "ended") return;
      if (run.ownerKey === caller.key || session() !== null) await gateway.leaveRun(caller, run.id, reason);
    },
  };
}
