import { followFeed } from "@board/core/activity/feed-stream";
import type { Member, System } from "@board/core/context/actor";
import type { Context } from "@board/core/context/context";
import { createContextFactory } from "@board/core/context/context-factory";
import type { Database } from "@board/core/db/database";
import { leaseJob } from "@board/core/job/lease";
import { relay } from "@board/core/job/relay";
import { silentLog } from "@board/core/values/log";
import { scheduled } from "@board/api/work/schedules";
import { parseSettings } from "@board/core/config/settings";
import { readHorizon } from "@board/core/stream/horizon";
import type { Client } from "pg";
import { KEYS } from "../service.ts";
import type { BenchEnvironment } from "../environment.ts";
import type { Callers } from "./home.ts";
import type { Measured } from "./measure.ts";

export const ROLE = "growth";
const RETENTION_DAYS = 90;
const POLLS = 100;
const JOBS = 50;
const RELAYED = 10;
const EXPIRED = 2_000;

/** Lists the work that no request waits for. It runs in this process, with a separate database role. */
export function listBackground(
  client: Client,
  { db }: Database,
  { board, gateway }: BenchEnvironment,
  { organization_id, member }: Callers,
): Record<string, Measured> {
  const settings = parseSettings(
    { ...KEYS, LOCAL_AUTH_TOKEN: "x".repeat(64), ACTIVITY_RETENTION_DAYS: String(RETENTION_DAYS) },
    "local",
  );
  const services = { db, settings, log: silentLog, now: () => new Date(), meter: { record() {} }, http: {} };
  const createContext = createContextFactory(services as unknown as Parameters<typeof createContextFactory>[0]);
  const context = (): Context<System> => createContext({ type: "system" });
  const base = { role: ROLE, pid: null };
  const once = (run: () => Promise<unknown>, prepare?: () => Promise<unknown>): Measured => ({
    ...base,
    count: 1,
    run,
    ...(prepare ? { prepare } : {}),
  });
  const addJobs = async (count: number, lane: string, sent: boolean) => {
    const { rows } = await client.query<{ id: string }>(
      `insert into jobs (kind, lane, organization_id, gateway_id, payload, run_at, sent_at, max_attempts)
       select 'gateway.probe', ${lane}, $1, $2, '{}', now() + $4 * interval '1 minute', case when $3 then now() end, 1 from generate_series(1, ${count}) as n returning id`,
      [organization_id, gateway.id, sent, sent ? 0 : 10],
    );
    return rows.map(({ id }) => id);
  };
  const removeJobs = () => client.query("delete from jobs where kind = 'gateway.probe' and payload = '{}'");
  let ids: string[] = [];
  const actor = {
    type: "user",
    active: { organization_id, ...member, all_boards_read: true, all_boards_write: true },
  } as unknown as Member;
  return {
    "poll of a comment stream": {
      ...base,
      count: POLLS,
      async run(count) {
        const ctx = context();
        const [source] = await followFeed(ctx, [actor]);
        for (let n = 0; n < count; n++) {
          const { horizon } = await readHorizon(ctx);
          const window = { after: { tx: horizon - 100n, seq: 0n }, below: horizon, since: null, limit: 100 };
          await (source as { read: (ctx: Context, w: typeof window) => Promise<unknown> }).read(ctx, window);
        }
      },
    },
    "lease of a job": {
      ...base,
      count: JOBS,
      prepare: async () => {
        await removeJobs();
        ids = await addJobs(JOBS, "'growth/' || n", true);
      },
      async run(count) {
        for (const id of ids.splice(0, count)) {
          const job = await leaseJob(context(), id);
          if (!job) throw new Error("The job was not leased");
          await client.query(
            "update jobs set status = 'done', finished_at = now(), organization_slot = null, gateway_slot = null where id = $1",
            [id],
          );
        }
      },
    },
    [`relay of ${RELAYED} jobs`]: once(
      () => relay(context(), async () => ({ failed: [] })),
      async () => {
        await removeJobs();
        await addJobs(RELAYED, "'growth/' || n", false);
      },
    ),
    "schedule: relay": once(() => scheduled.relay(context()), removeJobs),
    "schedule: lifecycle, nothing new": once(() => scheduled.lifecycle(context())),
    "schedule: lifecycle, 1,000 new events": once(
      () => scheduled.lifecycle(context()),
      () => addEvents(client, organization_id, board.id, 1_000, 0),
    ),
    "schedule: retention, nothing to remove": once(() => scheduled.retention(context())),
    [`schedule: retention of ${EXPIRED.toLocaleString("en")} events and as many jobs`]: once(
      () => scheduled.retention(context()),
      async () => {
        await addEvents(client, organization_id, board.id, EXPIRED, RETENTION_DAYS + 1);
        await scheduled.lifecycle(context());
        await client.query(
          `insert into jobs (kind, organization_id, payload, run_at, max_attempts, status, finished_at)
           select 'gateway.probe', $1, '{"old":1}', now(), 1, 'done', now() - interval '8 days' from generate_series(1, ${EXPIRED})`,
          [organization_id],
        );
      },
    ),
  };
}

const addEvents = (client: Client, organization_id: string, board_id: string, count: number, days: number) =>
  client.query(
    `insert into activity_events (organization_id, board_id, event_type, message, created_at)
     select $1, board.id, 'task.updated', 'Event', now() - $2 * interval '1 day' - n * interval '1 minute'
     from generate_series(1, ${count}) as n join lateral (select id from boards where organization_id = $1 order by id offset n % 20 limit 1) as board on true
     where $3::uuid is not null`,
    [organization_id, days, board_id],
  );
