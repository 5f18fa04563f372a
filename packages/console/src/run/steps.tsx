import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { useRetry } from "../resource.ts";
import { Problem } from "../ui/parts.tsx";
import { toWhole } from "../ui/figures.ts";
import { Select } from "../ui/select.tsx";
import type { Run, Step } from "../types.ts";
import { type Order, StepFeed } from "./feed.ts";
import { StepRow } from "./step-row.tsx";

const KINDS: Record<Step["kind"], string> = {
  message: "Messages",
  thought: "Thoughts",
  tool_call: "Tool calls",
  plan: "Plans",
  permission: "Permissions",
  usage: "Usage",
  log: "Logs",
};

/**
 * Rows are drawn this far beyond the visible part, except while a person scrolls by more than a screen at a time. Pages of steps are
 * read earlier, within `AHEAD_PX` of the end of the list.
 */
const MARGIN_PX = 200;
const AHEAD_PX = 8_000;
/** A list that is scrolled this close to its end stays at the end when it grows. */
const END_PX = 40;
const SETTLE_MS = 100;

/** Shows the steps of a run. There may be very many, so only the visible steps are in the page. */
export function Steps({ run }: { run: Run }) {
  const [kind, setKind] = useState<Step["kind"] | null>(null);
  const [order, setOrder] = useState<{ from: Order }>({ from: run.status === "running" ? "newest" : "oldest" });
  /** Whether the person switched to another list by a key. The new list then gets the focus. */
  const isByKey = useRef(false);
  const jump = (from: Order, byKey: boolean) => {
    isByKey.current = byKey;
    setOrder({ from });
  };
  const feed = useMemo(() => new StepFeed(run, kind, order.from), [run.id, kind, order]);
  useEffect(() => () => feed.close(), [feed]);
  useEffect(() => void feed.notice(run.steps), [feed, run.steps]);
  return (
    <section class="run-story" aria-label="Steps">
      <div class="run-tools">
        <Select
          label="Kind of steps"
          value={kind ?? ""}
          options={[["", `All ${toWhole(run.steps)} steps`], ...Object.entries(KINDS)]}
          onChoose={(chosen) => setKind((chosen || null) as Step["kind"] | null)}
        />
        <button type="button" onClick={() => jump("oldest", false)}>
          Oldest
        </button>
        <button type="button" onClick={() => jump("newest", false)}>
          Newest
        </button>
      </div>
      <List key={feed.id} feed={feed} run={run} hasFocus={isByKey.current} jump={(from) => jump(from, true)} />
    </section>
  );
}

interface ListProps {
  feed: StepFeed;
  run: Run;
  hasFocus: boolean;
  jump: (from: Order) => void;
}

function List({ feed, run, hasFocus, jump }: ListProps) {
  const box = useRef<HTMLDivElement>(null);
  const inside = useRef<HTMLDivElement>(null);
  const isPinned = useRef(feed.order === "newest");
  const [view, setView] = useState({ top: 0, height: 800, margin: MARGIN_PX });
  const { rows, version } = feed;
  void version.value;

  const look = () => {
    // The browser may report a scroll after the list was removed.
    if (!box.current) return;
    const { scrollTop, clientHeight, scrollHeight } = box.current;
    const isAtEnd = scrollTop + clientHeight >= scrollHeight - END_PX;
    isPinned.current = isAtEnd && (feed.order === "newest" || !feed.hasMore);
    setView((before) => {
      const isFar = Math.abs(scrollTop - before.top) > clientHeight;
      return { top: scrollTop, height: clientHeight, margin: isFar ? 0 : MARGIN_PX };
    });
    settle();
  };
  const reuse = useMemo(() => {
    const focused = () => inside.current?.querySelector<HTMLElement>(".run-step:focus-within")?.dataset["n"];
    return createReuse(() => Number(focused() ?? Number.NaN));
  }, [feed]);
  const settling = useRef<ReturnType<typeof setTimeout>>(undefined);
  /**
   * Redraws once scrolling has stopped. Until then the length of the list may be wrong, and rows outside of the visible part may
   * be missing.
   */
  const settle = () => {
    clearTimeout(settling.current);
    settling.current = setTimeout(() => {
      setView((before) => ({ ...before, margin: MARGIN_PX }));
    }, SETTLE_MS);
  };
  // Rows are measured when they are drawn for the first time, unfolded or changed, because their heights were only estimated.
  const observer = useMemo(
    () =>
      new ResizeObserver((entries) => {
        const list = box.current;
        const seen = entries.filter(({ target }) => target.isConnected);
        if (!list || seen.length === 0) return;
        const heights = seen.map(({ target, borderBoxSize }) => {
          return [Number((target as HTMLElement).dataset["n"]), borderBoxSize[0]!.blockSize] as const;
        });
        const { isChanged, shift } = rows.measure(new Map(heights), list.scrollTop);
        if (!isChanged) return;
        // Keeps the visible rows in place at once. The scroll event redraws the list in the next frame, as a task of its own.
        inside.current!.style.height = `${rows.height}px`;
        list.scrollTop = isPinned.current ? list.scrollHeight : list.scrollTop + shift;
        settle();
      }),
    [feed],
  );
  useEffect(
    () => () => {
      observer.disconnect();
      clearTimeout(settling.current);
    },
    [observer],
  );

  useLayoutEffect(() => {
    if (hasFocus) box.current?.focus();
  }, []);
  useLayoutEffect(() => {
    const list = box.current!;
    const before = list.scrollTop;
    if (isPinned.current) list.scrollTop = list.scrollHeight;
    else if (feed.shift !== 0) list.scrollTop += feed.shift;
    feed.shift = 0;
    if (list.scrollTop !== before || list.clientHeight !== view.height) look();
  });
  useEffect(() => {
    const isNear = feed.order === "newest" ? view.top < AHEAD_PX : view.top + view.height > rows.height - AHEAD_PX;
    if (isNear && feed.error.value === null) void feed.more();
  });

  useRetry(feed.error.value, () => feed.retry());

  const { rows: shown, top } = rows.slice(view.top - view.margin, view.top + view.height + view.margin);
  const elements = reuse(shown.map(({ step }) => step.n));
  return (
    <>
      <Problem error={feed.error.value} retry={() => feed.retry()} />
      {rows.count === 0 && !feed.hasMore && (
        <p class="muted">{run.steps === 0 ? "The agent has reported no steps." : "There are no steps of this kind."}</p>
      )}
      <div
        class="run-steps"
        ref={box}
        tabIndex={0}
        role="region"
        aria-label="List of steps"
        onScroll={look}
        onKeyDown={(event) => {
          if (event.target !== box.current || (event.key !== "Home" && event.key !== "End")) return;
          event.preventDefault();
          jump(event.key === "Home" ? "oldest" : "newest");
        }}
      >
        <div ref={inside} style={{ height: `${rows.height}px` }}>
          <ol style={{ transform: `translateY(${top}px)` }}>
            {shown.map(({ step }, index) => (
              <StepRow key={elements[index]} step={step} run={run} feed={feed} observer={observer} />
            ))}
          </ol>
        </div>
      </div>
    </>
  );
}

/**
 * Returns a function that gives each step the key of its element: a step that comes into view takes the element of one that left,
 * which is faster than making a new element and leaves less to collect. The element of the step that has the focus is not reused.
 */
function createReuse(findFocused: () => number): (steps: readonly number[]) => number[] {
  let keys = new Map<number, number>();
  let made = 0;
  return (steps) => {
    const [shown, focused] = [new Set(steps), findFocused()];
    const free = [...keys].filter(([n]) => !shown.has(n) && n !== focused).map(([, key]) => key);
    let next = 0;
    keys = new Map(steps.map((n) => [n, keys.get(n) ?? free[next++] ?? ++made]));
    return [...keys.values()];
  };
}
