import { eq, sql } from "drizzle-orm";
import type { Agent, System } from "../context/actor.ts";
import { type Context, transaction } from "../context/context.ts";
import { rowsOf } from "../db/database.ts";
import { toTimestamp } from "../db/timestamp.ts";
import { agents } from "../schema/agent.sql.ts";
import { budgets } from "../schema/budget.sql.ts";
import { gateways } from "../schema/gateway.sql.ts";
import { runs } from "../schema/run.sql.ts";
import { host_usage, type HostModelUsage } from "../schema/usage.sql.ts";
import { addMs } from "../values/time.ts";
import { listPlaces, readPlaceOfRun } from "./place.ts";
import { countInBudgets } from "./report.ts";
import { storeEntries } from "./store.ts";

/** How long after a wake-up the usage of an agent is read, because the agent works for a while. */
const WORK_MS = 60_000;
/** How long after a wake-up or the end of a run a host is asked for usage. Later usage is read after the next wake-up or run. */
const WINDOW_MS = 3_600_000;
const MAX_AGENTS = 1_000;
/** How many recent runs of an agent are searched for the run that ended last. */
const RECENT_RUNS = 50;

/** What a host reports about the current session of an agent. */
export interface ToldUsage {
  /** Null if the host reports nothing about a session. */
  session: { id: string; models: readonly HostModelUsage[] } | null;
  /** Whether the host is still counting, so that it may soon report more. */
  is_counting: boolean;
}

interface AgentToRead {
  id: string;
  gateway_id: string;
  organization_id: string;
}

/** Lists agents on hosts that were woken or ended a run, and whose usage was not read since. */
export async function listAgentsToRead(ctx: Context): Promise<AgentToRead[]> {
  const now = ctx.now();
  const [from, worked] = [toTimestamp(addMs(now, -WINDOW_MS)), toTimestamp(addMs(now, -WORK_MS))];
  const found = await ctx.db.execute(sql`
    with due as (
      select agent_id from (
        select distinct on (run.agent_id) run.agent_id, run.id from ${runs} as run where run.ended_at > ${from}
        order by run.agent_id, run.ended_at desc, run.id) as ended
      where not exists (select 1 from ${host_usage} as usage where usage.agent_id = ended.agent_id and usage.run_id = ended.id)
      union
      select woken.id from ${agents} as woken
      where woken.last_wake_sent_at > ${from} and woken.last_wake_sent_at <= ${worked} and not exists (
        select 1 from ${host_usage} as usage where usage.agent_id = woken.id
          and usage.read_at >= woken.last_wake_sent_at + ${sql.raw(`interval '${WORK_MS} milliseconds'`)})
    )
    select agent.id, agent.gateway_id, gateway.organization_id
    from due join ${agents} as agent on agent.id = due.agent_id join ${gateways} as gateway on gateway.id = agent.gateway_id
    where gateway.kind = 'openclaw' and gateway.connected and agent.openclaw_session_id is not null
      and agent.status <> 'deleting' limit ${MAX_AGENTS}`);
  return rowsOf<AgentToRead>(found);
}

interface UsageReading {
  agent: Agent & { openclaw_session_id: string };
  /** The first day to ask the host for. */
  since: string;
  /** The run that had ended last before the host was asked; null if none has ended recently. */
  ended_run_id: string | null;
}

/** Starts reading an agent's usage. Returns null if the agent was removed or has no session on a host. */
export async function beginUsageReading(ctx: Context<System>, agent_id: string): Promise<UsageReading | null> {
  const [row] = await ctx.db
    .select({
      agent_id: agents.id,
      name: agents.name,
      organization_id: gateways.organization_id,
      gateway_id: agents.gateway_id,
      board_id: agents.board_id,
      is_board_lead: agents.is_board_lead,
      openclaw_session_id: agents.openclaw_session_id,
      requests_per_minute: agents.requests_per_minute,
      has_budgets: sql<boolean>`exists (select 1 from ${budgets} where ${budgets.organization_id} = ${gateways.organization_id})`,
    })
    .from(agents)
    .innerJoin(gateways, eq(gateways.id, agents.gateway_id))
    .where(eq(agents.id, agent_id));
  const openclaw_session_id = row?.openclaw_session_id ?? null;
  if (!row || openclaw_session_id === null) return null;
  const since = ctx.now().toISOString().slice(0, 10);
  await ctx.db.insert(host_usage).values({ agent_id, since }).onConflictDoNothing();
  const [known] = await ctx.db.select({ since: host_usage.since }).from(host_usage).where(eq(host_usage.agent_id, agent_id));
  const agent = { ...row, openclaw_session_id, type: "agent" as const, newly_seen: false };
  return known ? { agent, since: known.since, ended_run_id: await findEndedRun(ctx, agent_id) } : null;
}

/**
 * Counts what the host reports in addition to what was counted before. The row is locked first, so that two concurrent readings
 * count a difference only once. While the host is still counting, the reading is not marked as done, so it is repeated.
 */
export const bookHostUsage = (
  ctx: Context<System>,
  { agent, ended_run_id }: UsageReading,
  { session, is_counting }: ToldUsage,
): Promise<void> =>
  transaction({ ...ctx, actor: agent } as Context<Agent>, async (ctx) => {
    const isAgent = eq(host_usage.agent_id, agent.agent_id);
    const [known] = await ctx.db.select().from(host_usage).where(isAgent).for("no key update");
    if (!known) return;
    const read_at = ctx.now();
    const read = is_counting ? {} : { read_at, run_id: ended_run_id };
    if (session === null) return void (is_counting || (await ctx.db.update(host_usage).set(read).where(isAgent)));
    const { id: session_id } = session;
    const { told, booked } = toComparable(session.models, known.session_id === session_id ? known.models : []);
    const used = told.map((now) => ({ now, used: toDifference(now, booked) })).filter(({ used }) => !isNothing(used));
    if (used.length > 0) {
      const isNewlyEnded = ended_run_id !== known.run_id;
      const run_id = (isNewlyEnded ? ended_run_id : null) ?? (await findCurrentRun(ctx));
      const idle = { key: session_id, run_id: null, task_id: null };
      const place = run_id === null ? (await listPlaces(ctx, [idle]))[0]! : await readPlaceOfRun(ctx, run_id);
      const entries = used.map(({ now, used: { model, cost, ...tokens } }) => ({
        ...tokens,
        ...place,
        key: `host:${session_id}:${model}:${now.input_tokens}:${now.output_tokens}:${now.cost}`,
        model: model === "" ? null : model,
        reasoning_tokens: 0,
        cost_usd: cost > 0 ? cost.toFixed(COST_DIGITS) : null,
        at: read_at,
      }));
      await (agent.has_budgets ? countInBudgets(ctx, entries) : storeEntries(ctx, entries));
    }
    await ctx.db
      .update(host_usage)
      .set({ ...read, session_id, models: [...session.models] })
      .where(isAgent);
  });

const COST_DIGITS = 9;
/** A cost below this is a rounding error, which arises when binary fractions are subtracted. */
const NO_COST = 1e-9;

interface Comparable {
  told: readonly HostModelUsage[];
  booked: readonly HostModelUsage[];
}

/**
 * Returns both lists as sums over all models if only one of them names models, as after an upgrade of the host. A comparison by
 * model would count everything again that was counted before.
 */
function toComparable(told: readonly HostModelUsage[], booked: readonly HostModelUsage[]): Comparable {
  if (booked.length === 0 || isUnnamed(told) === isUnnamed(booked)) return { told, booked };
  return { told: [toSum(told)], booked: [toSum(booked)] };
}

const isUnnamed = (models: readonly HostModelUsage[]): boolean => models.every(({ model }) => model === "");

const toSum = (models: readonly HostModelUsage[]): HostModelUsage =>
  models.reduce(
    (sum, { input_tokens, output_tokens, cached_input_tokens, cost }) => ({
      model: "",
      input_tokens: sum.input_tokens + input_tokens,
      output_tokens: sum.output_tokens + output_tokens,
      cached_input_tokens: sum.cached_input_tokens + cached_input_tokens,
      cost: sum.cost + cost,
    }),
    { model: "", input_tokens: 0, output_tokens: 0, cached_input_tokens: 0, cost: 0 },
  );

function toDifference(now: HostModelUsage, booked: readonly HostModelUsage[]): HostModelUsage {
  const before = booked.find(({ model }) => model === now.model);
  const beyond = (name: "input_tokens" | "output_tokens" | "cached_input_tokens" | "cost") =>
    Math.max(0, now[name] - (before?.[name] ?? 0));
  const cost = beyond("cost");
  return {
    model: now.model,
    input_tokens: beyond("input_tokens"),
    output_tokens: beyond("output_tokens"),
    cached_input_tokens: beyond("cached_input_tokens"),
    cost: cost < NO_COST ? 0 : cost,
  };
}

const isNothing = ({ input_tokens, output_tokens, cost }: HostModelUsage): boolean => input_tokens + output_tokens + cost === 0;

/** Finds the run that ended last, among the agent's most recent runs. */
async function findEndedRun(ctx: Context, agent_id: string): Promise<string | null> {
  const found = await ctx.db.execute(sql`
    select id from (
      select id, ended_at from ${runs} where agent_id = ${agent_id} order by started_at desc, id desc limit ${RECENT_RUNS}) as recent
    where ended_at > ${toTimestamp(addMs(ctx.now(), -WINDOW_MS))} order by ended_at desc, id limit 1`);
  return rowsOf<{ id: string }>(found)[0]?.id ?? null;
}

async function findCurrentRun({ db, actor }: Context<Agent>): Promise<string | null> {
  const found = await db.execute(sql`
    select id from (
      select id, status from ${runs} where agent_id = ${actor.agent_id} order by started_at desc, id desc limit ${RECENT_RUNS}) as recent
    where status = 'running' limit 1`);
  return rowsOf<{ id: string }>(found)[0]?.id ?? null;
}
