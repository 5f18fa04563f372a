import { effect, signal } from "@preact/signals";
import { messageOf } from "../api.ts";
import { visible } from "../live.ts";
import type { Run, Step } from "../types.ts";
import { followSteps, readSteps } from "./read.ts";
import { RowList } from "./rows.ts";

export type Order = "oldest" | "newest";

let feeds = 0;

/** Reads the steps of a run from its beginning or its end, and adds the steps that are stored later. */
export class StepFeed {
  readonly rows = new RowList();
  /** Changes whenever the rows change. */
  readonly version = signal(0);
  readonly error = signal<string | null>(null);
  /** The unfolded parts of rows. A part stays in this set while its row is scrolled out of sight. */
  readonly open = signal<ReadonlySet<string>>(new Set());
  readonly id = ++feeds;
  readonly order: Order;
  hasMore = true;
  /** How many pixels the rows have moved down because others were added above them or have grown. */
  shift = 0;
  private readonly run: Run;
  private readonly filter: { kind?: Step["kind"] };
  private cursor = "";
  /** Number of the first step after all steps that were read. It is null until the newest steps were read. */
  private next: number | null = null;
  /** How many steps the run is known to have. */
  private known = 0;
  /** The read that is under way. Other reads wait for it, so that no page is read twice. */
  private reading: Promise<void> | null = null;
  private readonly stop = new AbortController();
  private stopFollowing: (() => void) | undefined;

  constructor(run: Run, kind: Step["kind"] | null, order: Order) {
    this.run = run;
    this.filter = kind ? { kind } : {};
    this.order = order;
  }

  /** Tries again what has failed: reading the next page, or following the run. */
  async retry(): Promise<void> {
    this.error.value = null;
    await this.more();
    if (this.next === null || this.error.value !== null) return;
    this.stopFollowing?.();
    this.stopFollowing = undefined;
    this.follow(this.next);
    await this.notice(this.known);
  }

  /** Reads the next page. */
  more(): Promise<void> {
    return this.read(() => (this.hasMore ? this.readPage() : undefined));
  }

  private async read(act: () => Promise<void> | undefined): Promise<void> {
    if (this.reading || this.stop.signal.aborted) return this.reading ?? undefined;
    const pending = act();
    if (!pending) return;
    this.error.value = null;
    this.reading = pending
      .catch((reason: unknown) => {
        if (!this.stop.signal.aborted) this.error.value = messageOf(reason);
      })
      .finally(() => {
        this.reading = null;
        this.version.value++;
      });
    return this.reading;
  }

  private async readPage(): Promise<void> {
    const isOldest = this.order === "oldest";
    const query = { ...this.filter, order: isOldest ? "asc" : "desc", cursor: this.cursor } as const;
    const { items, next_cursor } = await readSteps(this.run, query, this.stop.signal);
    const [place, isFirst] = [this.cursor, this.cursor === ""];
    this.cursor = next_cursor ?? "";
    this.hasMore = next_cursor !== null;
    const before = this.rows.height;
    this.rows.add(isOldest ? items : items.toReversed(), isOldest);
    if (!isOldest && !isFirst) this.shift += this.rows.height - before;
    const newest = isOldest ? items.at(-1) : items[0];
    // An empty page means that no step of this kind is left, so following starts at the position that the page has reached.
    if (isOldest ? !this.hasMore : isFirst) this.follow(newest ? newest.n + 1 : Number((isOldest ? place : next_cursor) ?? 0));
  }

  /** Follows the run from step `next` on: it reads the run's stream while the run is active and the page is visible. */
  private follow(next: number): void {
    this.next = next;
    if (this.run.status !== "running") return;
    this.stopFollowing ??= effect(() => {
      if (!visible.value) return;
      const stop = new AbortController();
      void this.stream(stop.signal);
      return () => stop.abort();
    });
  }

  private async stream(signal: AbortSignal): Promise<void> {
    try {
      for await (const { data: step } of followSteps(this.run, signal)) {
        if (this.next === null || step.n < this.next) continue;
        if (step.n === this.next && !this.reading) this.take([step], step.n + 1);
        else await this.notice(step.n + 1);
      }
    } catch (reason) {
      if (!signal.aborted) this.error.value = messageOf(reason);
    }
  }

  private take(steps: readonly Step[], next: number): void {
    const { kind } = this.filter;
    this.rows.add(kind ? steps.filter((step) => step.kind === kind) : steps, true);
    this.next = next;
    this.version.value++;
  }

  /** Reads the steps that are missing if the run has `count` steps, for example after the page was hidden. */
  async notice(count: number): Promise<void> {
    this.known = Math.max(this.known, count);
    while (this.next !== null && this.next < count && this.error.value === null && !this.stop.signal.aborted)
      await this.read(async () => {
        const query = { ...this.filter, order: "asc", cursor: String(this.next) } as const;
        const { items, next_cursor } = await readSteps(this.run, query, this.stop.signal);
        this.take(items, next_cursor === null ? Math.max(count, (items.at(-1)?.n ?? -1) + 1) : Number(next_cursor));
      });
  }

  toggle(part: string, isOpen: boolean): void {
    const next = new Set(this.open.value);
    if (isOpen) next.add(part);
    else next.delete(part);
    this.open.value = next;
  }

  close(): void {
    this.stop.abort();
    this.stopFollowing?.();
  }
}
