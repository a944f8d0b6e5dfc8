import { useEffect, useState } from "preact/hooks";
import { ask } from "./api.ts";

/** What a screen shows of one thing that the console knows, and what it says after each change of it. */
export interface Room<Shown> {
  readonly shown: Shown | null;
  readonly busy: boolean;
  readonly said: string;
  readonly problem: string | null;
  /** Does it, looks again, and says so; a refusal is shown instead. */
  work(words: string | ((answer: never) => string), does: () => Promise<unknown>): Promise<boolean>;
}

/** One thing at a time: whether it is under way, and what was wrong with it. */
export function useAttempt(busyFirst = false) {
  const [busy, setBusy] = useState(busyFirst);
  const [problem, setProblem] = useState<string | null>(null);
  const attempt = async (work: () => Promise<void>): Promise<boolean> => {
    setBusy(true);
    setProblem(null);
    try {
      await work();
      return true;
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { busy, problem, attempt };
}

export function useRoom<Shown>(path: string, onChange?: () => void): Room<Shown> {
  const [shown, setShown] = useState<Shown | null>(null);
  const [said, setSaid] = useState("");
  const { busy, problem, attempt } = useAttempt();

  const work: Room<Shown>["work"] = (words, does) =>
    attempt(async () => {
      setSaid("");
      const answer = await does();
      setShown((await ask("GET", path)) as Shown);
      setSaid(typeof words === "string" ? words : words(answer as never));
      if (words !== "") onChange?.();
    });
  useEffect(() => {
    setShown(null);
    void work("", async () => undefined);
  }, [path]);
  // A screen that is still empty says that it is not yet all there is.
  const opening = shown === null && problem === null;
  return { shown, busy, said: opening ? "One moment…" : said, problem, work };
}
