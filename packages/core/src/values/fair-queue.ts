/** A place at work, until it ends. */
export interface Turn {
  /** Lets the next piece of work start. Later calls do nothing. */
  end(): void;
  /** Counts units, such as bytes, toward the rate of the work's group. */
  charge(units: number): void;
}

export interface FairQueueLimits {
  /** Most pieces of work at a time: of all, then of one key of each level. 0 is no limit, and so is a level without an entry. */
  running: readonly number[];
  /** Most pieces that wait. A group of which nothing waits may always add one. 0 is no limit. */
  waiting: number;
  /** Most pieces of one group that wait, 0 = no limit. */
  waiting_of_group: number;
  /** Units that a group may use a second; above it, its next work starts later. 0 is no limit. */
  group_units_per_second: number;
}

export interface FairQueue {
  /**
   * Waits for a turn. The keys say whose work it is, from the widest level to the narrowest; the group is the one of the second
   * level. Throws a QueueFullError.
   */
  enter(keys: readonly string[]): Promise<Turn>;
}

/** More work waits than the limit of its group, or of all groups, allows. */
export class QueueFullError extends Error {
  readonly of: "group" | "all";
  readonly limit: number;
  constructor(of: "group" | "all", limit: number) {
    super(`More than ${limit} pieces of work of ${of === "group" ? "this group" : "all groups"} are waiting`);
    this.of = of;
    this.limit = limit;
  }
}

/** The work of one key of a level. */
interface Node {
  parent: Node | null;
  key: string;
  running: number;
  /** Pieces that wait here and below. */
  queued: number;
  /** By key, in the order of their turns. */
  children: Map<string, Node>;
  /** What waits, at the narrowest level. */
  waiting: Waiting[];
}

interface Waiting {
  path: readonly Node[];
  start: () => void;
}

const GROUP_LEVEL = 2;

/**
 * Lets a few pieces of work run at a time and shares the turns by level: between the keys of the first level, and of each of
 * them between its keys of the second, so that a key with much work delays another by one turn at most.
 */
export function createFairQueue(limits: FairQueueLimits): FairQueue {
  const root = createNode(null, "");
  const rates = createRates(limits.group_units_per_second);
  let timer: NodeJS.Timeout | undefined;

  const mayStart = (node: Node, level: number) => {
    const limit = limits.running[level] ?? 0;
    return (limit === 0 || node.running < limit) && (level !== GROUP_LEVEL || rates.wait_ms(groupKey(node)) === 0);
  };

  /** The next piece of work below a node that may start. The key that it belongs to goes to the end of its level. */
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
    for (let next = takeNext(root, 0); next; next = takeNext(root, 0)) {
      change(next.path, 1, -1);
      next.start();
    }
    if (root.queued > 0) wakeUpForRate();
  }

  /** Work that waits for its group's rate alone is not started by the end of any other. */
  function wakeUpForRate(): void {
    const groups = [...root.children.values()].flatMap(({ children }) => [...children.values()]);
    const waits = groups.filter(({ queued }) => queued > 0).map((group) => rates.wait_ms(groupKey(group)));
    const wait_ms = Math.min(...waits.filter((ms) => ms > 0));
    clearTimeout(timer);
    if (wait_ms !== Number.POSITIVE_INFINITY) timer = setTimeout(startWaiting, Math.ceil(wait_ms));
  }

  function requireRoom(path: readonly Node[]): void {
    const { queued } = path[GROUP_LEVEL] ?? root;
    const { waiting, waiting_of_group } = limits;
    if (waiting_of_group > 0 && queued >= waiting_of_group) throw new QueueFullError("group", waiting_of_group);
    if (waiting > 0 && queued > 0 && root.queued >= waiting) throw new QueueFullError("all", waiting);
  }

  function createTurn(path: readonly Node[]): Turn {
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
      // Others that wait have no room, or they would have started.
      if (path.every(mayStart) && path.at(-1)!.queued === 0) {
        change(path, 1, 0);
        return createTurn(path);
      }
      requireRoom(path);
      change(path, 0, 1);
      await new Promise<void>((start) => {
        path.at(-1)!.waiting.push({ path, start });
        if (rates.wait_ms(groupKey(path[GROUP_LEVEL] ?? root)) > 0) wakeUpForRate();
      });
      return createTurn(path);
    },
  };
}

/** A group may use the units of so long in advance, so that single large pieces of work do not delay it. */
const BURST_MS = 2_000;
const SWEEP_SIZE = 1_000;

/** When the units that each group has used are within its rate again. */
function createRates(units_per_second: number) {
  const even_at = new Map<string, number>();
  return {
    charge(group: string, units: number): void {
      if (units_per_second === 0) return;
      const now = performance.now();
      if (even_at.size >= SWEEP_SIZE) for (const [key, at] of even_at) if (at <= now) even_at.delete(key);
      even_at.set(group, Math.max(now, even_at.get(group) ?? 0) + (units / units_per_second) * 1_000);
    },
    /** How long the group's next piece of work must wait. */
    wait_ms: (group: string): number => Math.max(0, (even_at.get(group) ?? 0) - performance.now() - BURST_MS),
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

/** The nodes of the keys, from the root on; new ones are last in the order of turns. */
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
