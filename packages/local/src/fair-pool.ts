export interface PoolSize {
  /** Number of work items that run at the same time. */
  slots: number;
  /** Number of work items of one group that may run at the same time. */
  slots_per_group: number;
}

type Work = () => Promise<void>;

interface FairPool {
  /** Runs the work as soon as a slot is free. The work must not reject. */
  add(owner: { group: string; member: string }, work: Work): void;
  /** Drops work that has not started, and waits for the running work. */
  stop(): Promise<void>;
}

interface Group {
  /** The waiting work of each member, in the order in which members are served. */
  waiting: Map<string, Work[]>;
  running: number;
}

/**
 * Serves groups with waiting work in rotation, and the members of a group likewise. The backlog of a group delays the next work
 * item of another group by at most one item.
 */
export function createFairPool({ slots, slots_per_group }: PoolSize): FairPool {
  const groups = new Map<string, Group>();
  let running = 0;
  let stopped = false;
  let resolveIdle = () => {};

  /** Moves a group to the end of the map, whose order is the order in which groups are served. */
  function moveToEnd(name: string, group: Group): void {
    groups.delete(name);
    groups.set(name, group);
  }

  function startNext(): void {
    for (const [name, group] of groups) {
      if (stopped || running >= slots) return;
      if (group.running >= slots_per_group) continue;
      const work = takeWork(group);
      if (!work) continue;
      group.running++;
      running++;
      // If slots are left, this loop reaches the group again after all other groups.
      moveToEnd(name, group);
      void work().then(() => {
        group.running--;
        running--;
        if (group.running === 0 && group.waiting.size === 0) groups.delete(name);
        else moveToEnd(name, group);
        if (running === 0) resolveIdle();
        startNext();
      });
    }
  }

  return {
    add({ group: name, member }, work) {
      const group = groups.get(name) ?? { waiting: new Map<string, Work[]>(), running: 0 };
      groups.set(name, group);
      const works = group.waiting.get(member);
      if (works) works.push(work);
      else group.waiting.set(member, [work]);
      startNext();
    },
    async stop() {
      stopped = true;
      if (running > 0) await new Promise<void>((resolve) => (resolveIdle = resolve));
    },
  };
}

function takeWork({ waiting }: Group): Work | undefined {
  const [turn] = waiting;
  if (!turn) return undefined;
  const [member, works] = turn;
  waiting.delete(member);
  const work = works.shift();
  if (works.length > 0) waiting.set(member, works);
  return work;
}
