import { AWAY_SECONDS } from "../../../client/src/clock.ts";

/** Whether somebody reads what a stream shows, as far as the page knows. A stream holds a worker, which is billed. */

/** Waits until somebody can see the page. */
export function visible(signal: AbortSignal): Promise<void> {
  if (!document.hidden || signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const look = () => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener("visibilitychange", look);
      signal.removeEventListener("abort", look);
      resolve();
    };
    document.addEventListener("visibilitychange", look);
    signal.addEventListener("abort", look);
  });
}

/** A stream's time: `signal` is aborted with the page's, and after minutes without a reader. */
export interface Reading {
  readonly signal: AbortSignal;
  /** Stops watching the page. */
  readonly end: () => void;
}

/** Watches the page for a reader. A hidden page keeps its stream as long as `isNeeded` says that it is of use there. */
export function watchReader(left: AbortSignal, isNeeded: () => boolean): Reading {
  const away = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const look = () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(() => isNeeded() || away.abort(), AWAY_SECONDS * 1000);
  };
  document.addEventListener("visibilitychange", look);
  look();
  const end = () => {
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", look);
  };
  return { signal: AbortSignal.any([left, away.signal]), end };
}
