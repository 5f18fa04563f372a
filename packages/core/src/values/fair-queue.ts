/** A running piece of work. It occupies a slot until `end` is called. */
export interface QueueSlot {
  /** Frees the slot for the next piece of work. Later calls do nothing. */
  end(): void;
  /** Counts units, such as bytes, toward the rate limit of the work's group. */
  charge(units: number): void;
}

export interface FairQueueLimits {
  /**
   * The maximum number of pieces of work that run at a time: first in total, then per key of each level. 0 or a missing entry
   * means no limit.
   */
  running: readonly number[];
  /** The maximum number of waiting pieces in total; 0 means no limit. A group without waiting work may always add one piece. */
  waiting: number;
  /** The maximum number of waiting pieces of work per group; 0 means no limit. */
  waiting_of_group: number;
  /** How many units per second a group may use; 0 means no limit. If a group uses more, its next work starts later. */
  group_units_per_second: number;
}

export interface FairQueue {
  /**
   * Waits until the work may run. The keys identify its owner, from the widest level to the narrowest. The second level is the
   * group. Throws a QueueFullError.
   */
  enter(keys: readonly string[]): Promise<QueueSlot>;
}

/** More work is waiting than the limit of the group or of the queue allows. */
export class QueueFullError extends Error {
  readonly of: "group" | "all";
  readonly limit: number;
  constructor(of: "group" | "all", limit: number) {
    super(`More than ${limit} pieces of work of ${of === "group" ? "this group" : "all groups"} are waiting`);
    this.of = of;
    this.limit = limit;
  }
}

/** The running and waiting work of a key at one level. */
interface Node {
  parent: Node | null;
  key: string;
  running: number;
  /** How many pieces of work of this key are waiting, including the keys of all narrower levels. */
  queued: number;
  /** The nodes of the next level by key. The first one is served next. */
  children: Map<string, Node>;
  /** The waiting work. Only nodes of the narrowest level have any. */
  waiting: Waiting[];
}

interface Waiting {
  path: readonly Node[];
  start: () => void;
}

const GROUP_LEVEL = 2;

/**
 * Limits how much work runs at a time and shares the slots level by level: the keys of the first level take turns, then the keys of
 * the second level within each of them, and so on. A busy key delays another key by at most one piece of work.
 */
export function createFairQueue(limits: FairQueueLimits): FairQueue {
  const root = createNode(null, "");
  const rates = createRates(limits.group_units_per_second);
  let timer: NodeJS.Timeout | undefined;
  /** The time of the current decision. If the clock were read twice, a wait could end in between and no timer would be set. */
  let now = performance.now();

  const mayStart = (node: Node, level: number) => {
    const limit = limits.running[level] ?? 0;
    return (limit === 0 || node.running < limit) && (level !== GROUP_LEVEL || rates.wait_ms(groupKey(node), now) === 0);
  };

  /** Takes the next waiting piece of work below a node, if one may start. The key of that work moves to the end of its level. */
  function takeNext(node: Node, level: number): Waiting | undefined {
    if (node.queued === 0 || !mayStart(node, level)) return undefined;
    for (const child of node.children.values()) {
      const next = takeNext(child, level + 1);
      if (!next) continue;
      node.children.delete(child.key);
      node.children.set(child.key, child);
      return next;
    }
    return node.waiting.shift();
  }

  function startWaiting(): void {
    now = performance.now();
    for (let next = takeNext(root, 0); next; next = takeNext(root, 0)) {
      change(next.path, 1, -1);
      next.start();
    }
    if (root.queued > 0) wakeUpForRate();
  }

  /**
   * Sets a timer for work that waits only because of the rate of its group. Otherwise it would wait until some other work ends.
   */
  function wakeUpForRate(): void {
    const groups = [...root.children.values()].flatMap(({ children }) => [...children.values()]);
    const waits = groups.filter(({ queued }) => queued > 0).map((group) => rates.wait_ms(groupKey(group), now));
    const wait_ms = Math.min(...waits.filter((ms) => ms > 0));
    clearTimeout(timer);
    if (wait_ms !== Number.POSITIVE_INFINITY) timer = setTimeout(startWaiting, Math.ceil(wait_ms));
  }

  function findRefusal(path: readonly Node[]): QueueFullError | null {
    const { queued } = path[GROUP_LEVEL] ?? root;
    const { waiting, waiting_of_group } = limits;
    if (waiting_of_group > 0 && queued >= waiting_of_group) return new QueueFullError("group", waiting_of_group);
    if (waiting > 0 && queued > 0 && root.queued >= waiting) return new QueueFullError("all", waiting);
    return null;
  }

  function createSlot(path: readonly Node[]): QueueSlot {
    let ended = false;
    return {
      end() {
        if (ended) return;
        ended = true;
        change(path, -1, 0);
        if (root.queued > 0) startWaiting();
        forgetIdle(path);
      },
      charge: (units) => rates.charge(groupKey(path[GROUP_LEVEL] ?? root), units),
    };
  }

  return {
    async enter(keys) {
      const path = findPath(root, keys);
      now = performance.now();
      // If other work of this key is waiting, no slot is free. Otherwise that work would already have started.
      if (path.every(mayStart) && path.at(-1)!.queued === 0) {
        change(path, 1, 0);
        return createSlot(path);
      }
      const refusal = findRefusal(path);
      if (refusal) {
        // A client can invent keys, so the nodes of refused work must not stay in memory.
        forgetIdle(path);
        throw refusal;
      }
      change(path, 0, 1);
      await new Promise<void>((start) => {
        path.at(-1)!.waiting.push({ path, start });
        if (rates.wait_ms(groupKey(path[GROUP_LEVEL] ?? root), now) > 0) wakeUpForRate();
      });
      return createSlot(path);
    },
  };
}

/** A group may use the units of this period in advance, so that a single large piece of work does not delay the group. */
const BURST_MS = 2_000;
const SWEEP_SIZE = 1_000;

/** Stores for each group when the units it has used will be within its rate again. */
function createRates(units_per_second: number) {
  const even_at = new Map<string, number>();
  return {
    charge(group: string, units: number): void {
      if (units_per_second === 0) return;
      const now = performance.now();
      if (even_at.size >= SWEEP_SIZE) for (const [key, at] of even_at) if (at <= now) even_at.delete(key);
      even_at.set(group, Math.max(now, even_at.get(group) ?? 0) + (units / units_per_second) * 1_000);
    },
    /** Returns how many milliseconds the group's next piece of work must wait. */
    wait_ms: (group: string, now: number): number => Math.max(0, (even_at.get(group) ?? 0) - now - BURST_MS),
  };
}

const groupKey = ({ parent, key }: Node) => `${parent?.key ?? ""} ${key}`;

const createNode = (parent: Node | null, key: string): Node => ({
  parent,
  key,
  running: 0,
  queued: 0,
  children: new Map(),
  waiting: [],
});

/** Returns the nodes from the root to the narrowest key. A new node is added at the end of its level. */
function findPath(root: Node, keys: readonly string[]): Node[] {
  const path = [root];
  for (const key of keys) {
    const parent = path.at(-1)!;
    const node = parent.children.get(key) ?? createNode(parent, key);
    parent.children.set(key, node);
    path.push(node);
  }
  return path;
}

function change(path: readonly Node[], running: number, queued: number): void {
  for (const node of path) {
    node.running += running;
    node.queued += queued;
  }
}

function forgetIdle(path: readonly Node[]): void {
  for (const { parent, key, running, queued } of path.toReversed())
    if (running === 0 && queued === 0) parent?.children.delete(key);
}
