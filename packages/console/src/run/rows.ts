import type { Step } from "../types.ts";

/** A step on the page. All steps that update a tool call share the row of the call's first step. */
export interface Row {
  step: Step;
  /** The steps of the row that were read so far, in order. Only a tool call has more than one. */
  parts: Step[];
  /** The measured height in pixels, or an estimate until the row was drawn. */
  height: number;
}

interface Chunk {
  rows: Row[];
  height: number;
}

const CHUNK_ROWS = 200;
const LINE_PX = 20;
const ROW_PX = 36;
const LINE_CHARACTERS = 90;
const MAX_LINES = 12;

function estimate(step: Step): number {
  if (step.kind === "plan") return ROW_PX + step.entries.length * LINE_PX;
  if (step.kind !== "message" && step.kind !== "log") return ROW_PX;
  return ROW_PX - LINE_PX + LINE_PX * Math.min(MAX_LINES, Math.ceil(step.text.length / LINE_CHARACTERS));
}

/**
 * The steps that were read so far, in order, as rows in chunks. Each chunk stores the sum of its rows' heights, so that a scroll
 * position among 100,000 rows is found by adding a few hundred numbers.
 */
export class RowList {
  chunks: Chunk[] = [];
  count = 0;
  /** The first known row of each tool call. */
  private calls = new Map<string, Row>();

  /** Adds steps that come after all known steps (`isAfter`) or before them. */
  add(steps: readonly Step[], isAfter: boolean): void {
    const rows: Row[] = [];
    /** The rows that got more steps. Each is merged once, because a call may have thousands of updates. */
    const grown = new Set<Row>();
    for (const step of steps) {
      const known = step.kind === "tool_call" ? this.calls.get(step.tool_call_id) : undefined;
      if (known && known.step.n < step.n) {
        known.parts.push(step);
        grown.add(known);
        continue;
      }
      if (known) this.drop(known);
      const row = { step, parts: [step, ...(known?.parts ?? [])], height: estimate(step) };
      rows.push(row);
      if (known) grown.add(row);
      if (step.kind === "tool_call") this.calls.set(step.tool_call_id, row);
    }
    for (const row of grown) {
      row.parts.sort((one, other) => one.n - other.n);
      row.step = merge(row.parts);
    }
    if (rows.length > 0) this.put(rows, isAfter);
  }

  private put(rows: Row[], isAfter: boolean): void {
    const height = rows.reduce((sum, row) => sum + row.height, 0);
    const last = this.chunks.at(-1);
    this.count += rows.length;
    if (!isAfter) this.chunks.unshift({ rows, height });
    else if (last && last.rows.length + rows.length <= CHUNK_ROWS) {
      last.rows.push(...rows);
      last.height += height;
    } else this.chunks.push({ rows, height });
  }

  /** Removes the row of a tool call, because an earlier step of the call was read and gets the row. */
  private drop(row: Row): void {
    const chunk = this.chunks.find(({ rows }) => rows.includes(row));
    if (!chunk) return;
    chunk.rows = chunk.rows.filter((other) => other !== row);
    chunk.height -= row.height;
    this.count--;
  }

  /** Stores measured heights by step number. `shift` is how many pixels the rows above the scroll position have grown. */
  measure(heights: ReadonlyMap<number, number>, scrolled: number): { isChanged: boolean; shift: number } {
    let [at, shift, isChanged] = [0, 0, false];
    const [first, last] = [Math.min(...heights.keys()), Math.max(...heights.keys())];
    for (const chunk of this.chunks) {
      const before = chunk.height;
      if (chunk.rows.length === 0 || chunk.rows[0]!.step.n > last || chunk.rows.at(-1)!.step.n < first) {
        at += before;
        continue;
      }
      for (const row of chunk.rows) {
        const change = (heights.get(row.step.n) ?? row.height) - row.height;
        at += row.height;
        if (change === 0) continue;
        if (at <= scrolled) shift += change;
        isChanged = true;
        row.height += change;
        chunk.height += change;
      }
    }
    return { isChanged, shift };
  }

  get height(): number {
    return this.chunks.reduce((sum, chunk) => sum + chunk.height, 0);
  }

  /** Returns the rows between two distances from the top, and the distance at which the first of these rows begins. */
  slice(from: number, to: number): { rows: Row[]; top: number } {
    const rows: Row[] = [];
    let [at, top] = [0, 0];
    for (const chunk of this.chunks) {
      if (at > to) break;
      if (at + chunk.height < from) {
        at += chunk.height;
        continue;
      }
      for (const row of chunk.rows) {
        if (at + row.height >= from && at <= to) {
          if (rows.length === 0) top = at;
          rows.push(row);
        }
        at += row.height;
      }
    }
    return { rows, top };
  }
}

/** Merges the steps of a tool call into its first step, with the fields that later steps have changed. */
function merge(parts: readonly Step[]): Step {
  const [first] = parts as [Step];
  if (parts.length === 1) return first;
  const named = parts.flatMap((part) => Object.entries(part).filter(([, value]) => value !== null && value !== undefined));
  return { ...Object.fromEntries(named), n: first.n, at: first.at } as Step;
}
