/** Where an id comes from. */
export type Source = "own" | "gone" | "foreign" | "unknown";

/** Stands in a generated request for an id that is looked up when the request is sent: only then it is known what there is. */
export class Pick {
  /** What it is the id of, as path parameters name it without `_id`. */
  readonly kind: string;
  readonly nth: number;
  readonly source: Source;
  constructor(kind: string, nth: number, source: Source) {
    this.kind = kind;
    this.nth = nth;
    this.source = source;
  }
}

/** An id, and what was above it where it was seen: the board of a task, the webhook of a payload. */
export interface Entry {
  id: string;
  above: Readonly<Record<string, string>>;
  /** Callers depend on it: it is seldom a target of what changes or removes. */
  core: boolean;
  gone: boolean;
}

/** Of one kind there are at most so many: the latest, and those that callers depend on. */
const MAX_ENTRIES = 40;

/** The ids of one organization, learned from the answers to those who may see them. */
export interface Pool {
  add(kind: string, id: string, above?: Readonly<Record<string, string>>, core?: boolean): void;
  remove(id: string): void;
  /** The nth of those that fit, live or gone; null when there is none. `calm` leaves out what callers depend on. */
  pick(
    kind: string,
    nth: number,
    wanted: { gone: boolean; calm?: boolean; above?: Readonly<Record<string, string>> },
  ): Entry | null;
  all(): ReadonlySet<string>;
}

export function createPool(): Pool {
  const kinds = new Map<string, Map<string, Entry>>();
  const ever = new Set<string>();
  return {
    add(kind, id, above = {}, core = false) {
      const entries = kinds.get(kind) ?? new Map<string, Entry>();
      kinds.set(kind, entries);
      const known = entries.get(id);
      ever.add(id);
      if (known?.gone) return;
      entries.set(id, { id, above: { ...known?.above, ...above }, core: core || (known?.core ?? false), gone: false });
      if (entries.size <= MAX_ENTRIES) return;
      const oldest = [...entries.values()].find((entry) => !entry.core);
      if (oldest) entries.delete(oldest.id);
    },
    remove(id) {
      for (const entries of kinds.values())
        for (const entry of entries.values()) if (entry.id === id || Object.values(entry.above).includes(id)) entry.gone = true;
    },
    pick(kind, nth, { gone, calm = false, above = {} }) {
      const all = [...(kinds.get(kind)?.values() ?? [])].filter((entry) => entry.gone === gone && !(calm && entry.core));
      const near = all.filter((entry) => Object.entries(above).every(([name, id]) => (entry.above[name] ?? id) === id));
      const from = near.length > 0 ? near : all;
      return from[nth % from.length] ?? null;
    },
    all: () => ever,
  };
}

/** `depends_on_task_ids` are ids of tasks, `board_group_id` is one of a group. Null for what is no id by its name. */
export const kindOf = (name: string): string | null =>
  name === "dependencies" ? "task" : (/(?:^|_)([a-z]+)_ids?$/.exec(name)?.[1] ?? null);
