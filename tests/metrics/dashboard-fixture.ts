import { activity_events, boards, task_transitions, tasks } from "@board/core/schema/all-tables";
import type { Dashboard } from "@board/core/metrics/dashboard";
import type { Answer } from "../support/http.ts";
import { createTeam, type Status, type Team } from "../support/task-rules.ts";
import { createWorld, type Person, type Tenant, type World } from "../support/world.ts";

export type Transition = typeof task_transitions.$inferInsert;
export type Series = Dashboard["throughput"]["primary"];

const PATH = "/api/v1/metrics/dashboard";

/** Creates a clock that can be stopped at a given time. */
export function createStoppableClock() {
  let stopped: Date | null = null;
  return {
    now: () => stopped ?? new Date(),
    stopAt(moment: Date) {
      stopped = moment;
    },
  };
}

/** The time of every dashboard request: a Wednesday. */
export const NOW = "2026-03-18T10:24:09.799Z";
/** The start of the range of a day. */
export const START = "2026-03-17T10:24:09.799Z";
/** One millisecond before the range, which belongs to the comparison range. */
export const EARLIER = "2026-03-17T10:24:09.798Z";
export const LATEST = "2026-03-18T10:24:09.798Z";
/** The hours that contain the start and the end of the range. */
export const [FIRST, LAST] = ["2026-03-17T10:00:00.000Z", "2026-03-18T10:00:00.000Z"] as const;

interface DashboardOptions {
  now?: string;
  who?: Person;
}

/** A world whose clock is stopped at the time of the dashboard requests, with a team and another organization. */
export interface DashboardFixture {
  world: World;
  home: Team;
  abroad: Tenant;
  /** Requests a dashboard, as the owner of the home organization unless another user is given. */
  ask: (query: object, asking?: DashboardOptions) => Promise<Answer>;
  /** Requests a dashboard and expects success. */
  read: (query: object, asking?: DashboardOptions) => Promise<Answer["body"]>;
  close: () => Promise<void>;
}

export async function openDashboardFixture(): Promise<DashboardFixture> {
  const clock = createStoppableClock();
  const world = await createWorld({ clock: clock.now });
  const home = await createTeam(world, "home");
  const ask = (query: object, { now = NOW, who = home.owner }: DashboardOptions = {}) => {
    clock.stopAt(new Date(now));
    return readDashboard(world, who, query);
  };
  const read = async (query: object, asking?: DashboardOptions) => {
    const answer = await ask(query, asking);
    if (answer.status !== 200) throw new Error(`The dashboard is refused: ${answer.status} ${answer.text}`);
    return answer.body;
  };
  return { world, home, abroad: await world.tenant("abroad"), ask, read, close: () => world.close() };
}

export const readDashboard = (world: World, person: Person, query: object): Promise<Answer> =>
  world.call("GET", `${PATH}?${new URLSearchParams({ ...query }).toString()}`, { token: person.token });

/** Adds a board of the tenant without any history, and returns its id. */
export async function addEmptyBoard(world: World, { organization_id, gateway_id }: Tenant, name = "Quiet"): Promise<string> {
  const slug = crypto.randomUUID();
  const [row] = await world.db
    .insert(boards)
    .values({ organization_id, gateway_id, name, slug, description: "A board" })
    .returning();
  return row!.id;
}

/** The status of a task and when it was entered. The last step is the present status; `gone` means that the task was deleted. */
export type HistoryStep = [at: string, status: Status | "gone"];

/** Adds a task with this history, including the starts of its work. */
export async function addHistory(world: World, board_id: string, stops: readonly HistoryStep[]): Promise<void> {
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

/** Returns the buckets with a value other than zero. */
export const nonZero = ({ points }: Series): Record<string, number> =>
  Object.fromEntries(points.filter(({ value }) => value !== 0).map(({ period, value }) => [period, value]));
