/**
 * Where an id comes from: an existing ("own") or deleted ("gone") row of the own organization, a row of the victim ("foreign"), or
 * nowhere: a random UUID ("unknown").
 */
export type Source = "own" | "gone" | "foreign" | "unknown";

/** A placeholder for an id. The id is chosen when the request is sent, because the existing rows are known then. */
export class IdPlaceholder {
  /** The kind of row, as path parameters name it without `_id`. */
  readonly kind: string;
  readonly nth: number;
  readonly source: Source;
  constructor(kind: string, nth: number, source: Source) {
    this.kind = kind;
    this.nth = nth;
    this.source = source;
  }
}

/** An id with its parents, such as the board of a task or the webhook of a payload. */
export interface Entry {
  id: string;
  above: Readonly<Record<string, string>>;
  /** Whether callers depend on it. Such a row is rarely changed or deleted. */
  core: boolean;
  gone: boolean;
}

/** The maximum number of ids per kind: the latest ids, and the ids that callers depend on. */
const MAX_ENTRIES = 40;

/** The ids of an organization, collected from answers to its callers. */
export interface Pool {
  add(kind: string, id: string, above?: Readonly<Record<string, string>>, core?: boolean): void;
  remove(id: string): void;
  /** Returns the nth matching id, existing or deleted, or null. `avoid_core` excludes rows that callers depend on. */
  pick(
    kind: string,
    nth: number,
    wanted: { gone: boolean; avoid_core?: boolean; above?: Readonly<Record<string, string>> },
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
    pick(kind, nth, { gone, avoid_core = false, above = {} }) {
      const all = [...(kinds.get(kind)?.values() ?? [])].filter((entry) => entry.gone === gone && !(avoid_core && entry.core));
      const near = all.filter((entry) => Object.entries(above).every(([name, id]) => (entry.above[name] ?? id) === id));
      // An entry without a parent, such as a delivery of an organization's subscription, does not exist under that parent.
      const nearest = near.filter((entry) => Object.keys(above).every((name) => entry.above[name] !== undefined));
      const from = [nearest, near, all].find((entries) => entries.length > 0) ?? [];
      return from[nth % from.length] ?? null;
    },
    all: () => ever,
  };
}

/** Returns the kind of an id by its field name, such as task for `depends_on_task_ids`; null for other fields. */
export const kindOf = (name: string): string | null =>
  name === "dependencies" ? "task" : (/(?:^|_)([a-z]+)_ids?$/.exec(name)?.[1] ?? null);
