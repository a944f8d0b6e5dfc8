import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

/** The few parts that every screen is made of. */
export function Chip({ kind, children }: { readonly kind: string; readonly children: ComponentChildren }) {
  return <span class={`chip ${kind}`}>{children}</span>;
}

export function Empty({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      <p>{children}</p>
    </div>
  );
}

/** A time as people say it; the exact one on hover and for whoever reads aloud. */
export function Time({ at }: { readonly at: string | null }) {
  if (at === null) return <span>–</span>;
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return <span>–</span>;
  const today = new Date().toDateString() === date.toDateString();
  const text = today ? date.toLocaleTimeString() : `${date.toLocaleDateString()} ${date.toLocaleTimeString()}`;
  return (
    <time dateTime={at} title={at}>
      {text}
    </time>
  );
}

/** An id that copies with a click. */
export function Id({ text }: { readonly text: string }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 1_500);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = (): void => void navigator.clipboard.writeText(text).then(() => setCopied(true));
  return (
    <button type="button" class="id" onClick={copy} title={`Copy ${text}`} aria-label={`Copy ${text}`}>
      <code>{text}</code>
      <span aria-live="polite">{copied ? " copied" : ""}</span>
    </button>
  );
}

export function Meter({
  label,
  used,
  limit,
  unit = "",
}: {
  readonly label: string;
  readonly used: number;
  readonly limit: number;
  readonly unit?: string;
}) {
  const share = limit === 0 ? 0 : Math.min(1, used / limit);
  return (
    <div class="meter">
      <span class="label">{label}</span>
      <svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
        <rect class="track" width="100" height="4" rx="2" />
        <rect class={share > 0.85 ? "used near" : "used"} width={share * 100} height="4" rx="2" />
      </svg>
      <span class="value">
        {used}
        <span class="muted">
          {" "}
          of {limit}
          {unit}
        </span>
      </span>
    </div>
  );
}

/** A question of our own, over everything else; Escape takes it away. */
export function Dialog({
  title,
  onClose,
  children,
}: {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}) {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    box.current?.showModal();
  }, []);
  return (
    <dialog ref={box} aria-label={title} onClose={onClose}>
      <h2>{title}</h2>
      {children}
    </dialog>
  );
}

/** The last line of a form in a dialog: do it, or go back. */
export function Answers(props: { readonly verb: string; readonly kind?: "yes" | "no"; readonly onClose: () => void }) {
  return (
    <div class="buttons">
      <button type="submit" class={props.kind ?? "yes"}>
        {props.verb}
      </button>
      <Button class="plain" onClick={props.onClose}>
        Back
      </Button>
    </div>
  );
}

/** In the place of that, where what a dialog is about has ended meanwhile: nothing is sent, and what was typed stays until it is closed. */
export function Over(props: { readonly how: string; readonly onClose: () => void }) {
  return (
    <>
      <p class="passed" role="alert">
        {props.how}
      </p>
      <div class="buttons">
        <Button class="plain" onClick={props.onClose}>
          Close
        </Button>
      </div>
    </>
  );
}

export function Problem({ text }: { readonly text: string | null }) {
  return (
    <p class={text === null ? "problem quiet" : "problem"} role="alert">
      {text ?? ""}
    </p>
  );
}

/** Counts along, once a second. */
export function useNow(everyMs = 1_000): number {
  const [now, setNow] = useState(performance.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(performance.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}

/** False for a moment after `changedMs`: what just appeared is not clicked by accident. */
export function useSteady(changedMs: number, steadyMs: number): boolean {
  const [steadySince, setSteadySince] = useState<number | null>(null);
  useEffect(() => {
    const leftMs = Math.max(0, changedMs + steadyMs - performance.now());
    const timer = setTimeout(() => setSteadySince(changedMs), leftMs);
    return () => clearTimeout(timer);
  }, [changedMs, steadyMs]);
  return steadySince === changedMs;
}

export function left(untilMs: number, nowMs: number): string {
  // The time now is told every second: what is left is no more than it was at first.
  const seconds = Math.max(0, Math.floor((untilMs - nowMs) / 1000));
  const minutes = Math.floor(seconds / 60);
  if (minutes >= 60) return `${Math.floor(minutes / 60)} h ${minutes % 60} min left`;
  return `${minutes}:${String(seconds % 60).padStart(2, "0")} left`;
}

/** One that is disabled for now can still be reached, and does nothing. */
export function Button(props: JSX.IntrinsicElements["button"]) {
  const onClick = props["aria-disabled"] === true ? undefined : props.onClick;
  return <button type="button" {...props} onClick={onClick} />;
}
