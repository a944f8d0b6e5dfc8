import type { CallerCheck, CallerEnd, LiveCaller } from "../../src/conventions/caller/port.ts";

/** A caller whose life a test decides. The real ones are proven with real processes elsewhere. */
export interface ScriptedCaller extends LiveCaller {
  become(check: CallerCheck): void;
}

let serial = 100;

export function scriptedCaller(
  options: {
    readonly uid?: number;
    /** A number of its own, where it has to be the same one for two gateways. */
    readonly pid?: number;
    readonly binding?: "process" | "connection";
    /** Who started it. */
    readonly parent?: LiveCaller;
    /** Two hexadecimal digits that stand for its image. */
    readonly image?: string;
  } = {},
): ScriptedCaller {
  const pid = options.pid ?? serial++;
  const uid = options.uid ?? 1000;
  const binding = options.binding ?? "process";
  let state: CallerCheck = { kind: "same" };
  const listeners = new Set<(end: CallerEnd) => void>();
  const caller: ScriptedCaller = {
    evidence: {
      process: { pid, startTime: `${pid}0`, uid, pidfdInode: `${pid}1` },
      pathObserved: "/opt/agent/bin/agent",
      signingIdentifier: null,
      designatedRequirement: null,
      cdhash: `sha256:${(options.image ?? "ab").repeat(32)}`,
      validity: "unsigned",
      authority: { kind: "unsigned", note: null },
      interpreter: null,
      unownedMappings: [],
      ancestors: [],
      namespaces: "own",
      binding,
    },
    uid,
    pid,
    key: `caller-${pid}`,
    binding,
    check: () => state,
    onExit(listener) {
      if (state.kind === "gone" || state.kind === "replaced") listener(state);
      else listeners.add(listener);
    },
    ancestry: () => {
      const { parent } = options;
      if (parent === undefined) return [];
      const { pid: above, startTime } = parent.evidence.process;
      return [{ pid: above, startTime, path: null }, ...parent.ancestry()];
    },
    retain: () => caller,
    close: () => undefined,
    become(next) {
      state = next;
      if (next.kind !== "gone" && next.kind !== "replaced") return;
      for (const listener of [...listeners]) listener(next);
      listeners.clear();
    },
  };
  return caller;
}
