import { activity_events, boards, task_transitions, tasks } from "@board/core/db/schema";
import type { Dashboard } from "@board/core/metrics/dashboard";
import type { Answer } from "./http.ts";
import { createTeam, type Status, type Team } from "./task-rules.ts";
import { createWorld, type Person, type Tenant, type World } from "./world.ts";

export type Transition = typeof task_transitions.$inferInsert;
export type Series = Dashboard["throughput"]["primary"];

const PATH = "/api/v1/metrics/dashboard";

/** A clock that stands still once it is set. */
export function stoppableClock() {
  let stopped: Date | null = null;
  return {
    now: () => stopped ?? new Date(),
    stopAt(moment: Date) {
      stopped = moment;
    },
  };
}

/** The Wednesday at which dashboards are asked for. */
export const NOW = "2026-03-18T10:24:09.799Z";
/** Where the range of a day starts. */
export const START = "2026-03-17T10:24:09.799Z";
/** A millisecond before it, which is in the comparison. */
export const EARLIER = "2026-03-17T10:24:09.798Z";
export const LATEST = "2026-03-18T10:24:09.798Z";
/** The hours that hold the start and the end. */
export const [FIRST, LAST] = ["2026-03-17T10:00:00.000Z", "2026-03-18T10:00:00.000Z"] as const;

interface Asking {
  now?: string;
  who?: Person;
}

/** A world in which it is what time dashboards are asked for at, with a team and another organization. */
export interface Dashboards {
  world: World;
  home: Team;
  abroad: Tenant;
  /** As the home organization's owner, unless somebody else is named. */
  ask: (query: object, asking?: Asking) => Promise<Answer>;
  /** Asks for what must be answered. */
  read: (query: object, asking?: Asking) => Promise<Answer["body"]>;
}

export async function openDashboards(): Promise<Dashboards> {
  const clock = stoppableClock();
  const world = await createWorld({ clock: clock.now });
  const home = await createTeam(world, "home");
  const ask = (query: object, { now = NOW, who = home.owner }: Asking = {}) => {
    clock.stopAt(new Date(now));
    return readDashboard(world, who, query);
  };
  const read = async (query: object, asking?: Asking) => {
    const answer = await ask(query, asking);
    if (answer.status !== 200) throw new Error(`The dashboard is refused: ${answer.status} ${answer.text}`);
    return answer.body;
  };
  return { world, home, abroad: await world.tenant("abroad"), ask, read };
}

export const readDashboard = (world: World, person: Person, query: object): Promise<Answer> =>
  world.call("GET", `${PATH}?${new URLSearchParams({ ...query }).toString()}`, { token: person.token });

/** A board of the tenant that nothing has happened on. */
export async function addQuietBoard(world: World, { organization_id, gateway_id }: Tenant, name = "Quiet"): Promise<string> {
  const slug = crypto.randomUUID();
  const [row] = await world.db
    .insert(boards)
    .values({ organization_id, gateway_id, name, slug, description: "A board" })
    .returning();
  return row!.id;
}

/** Where a task went and when; the last stop is where it is now, `gone` is its removal. */
export type Stop = [at: string, status: Status | "gone"];

/** A task with a history, times of work included, as if it had gone that way. */
export async function addHistory(world: World, board_id: string, stops: readonly Stop[]): Promise<void> {
  const last = stops.at(-1)![1];
  const task_id = last === "gone" ? null : crypto.randomUUID();
  let in_progress_at: Date | null = null;
  let from_status: Status | null = null;
  const moves: Transition[] = [];
  for (const [when, stop] of stops) {
    const at = new Date(when);
    const to_status = stop === "gone" ? null : stop;
    if (to_status === "in_progress" && (in_progress_at === null || from_status === "done")) in_progress_at = at;
    if (to_status === "inbox") in_progress_at = null;
    moves.push({ board_id, task_id, from_status, to_status, at, in_progress_at });
    from_status = to_status;
  }
  if (task_id !== null && last !== "gone")
    await world.db.insert(tasks).values({ id: task_id, board_id, title: "Task", status: last, in_progress_at });
  await world.db.insert(task_transitions).values(moves);
}

export async function addEvents(
  world: World,
  { organization_id }: { organization_id: string },
  board_id: string | null,
  events: readonly [at: string, event_type: string][],
): Promise<void> {
  await world.db
    .insert(activity_events)
    .values(events.map(([at, event_type]) => ({ organization_id, board_id, event_type, created_at: new Date(at) })));
}

/** The buckets in which something happened. */
export const nonZero = ({ points }: Series): Record<string, number> =>
  Object.fromEntries(points.filter(({ value }) => value !== 0).map(({ period, value }) => [period, value]));
