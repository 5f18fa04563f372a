import { and, eq } from "drizzle-orm";
import * as z from "zod";
import type { Agent } from "../context/actor.ts";
import { type Context, transaction } from "../context/context.ts";
import { actingAs } from "../db/change-actor.ts";
import { RUN_LINK_KINDS, runs } from "../schema/run.sql.ts";
import { changedFields, isEmpty } from "../values/changed-fields.ts";
import { DomainError, notFound } from "../values/errors.ts";
import { addMs, DAY_MS } from "../values/time.ts";
import { lazyObject, MAX_NAME, MAX_URL, NonEmpty, TextOrNull, valueError } from "../values/wire.ts";
import { type Run, type RunRow, toRun } from "./run.ts";

const MAX_LINKS = 20;
const MAX_REASON = 500;
/** A runner that was disconnected can send the rest of its report until this long after the end of its run. */
const LATE_MS = DAY_MS;

/**
 * Matches https and git addresses without spaces and control characters. An address with another scheme, such as `javascript:`,
 * could run code in the page that shows it.
 */
const ADDRESS = /^(?:https:\/\/|ssh:\/\/|git:\/\/|git\+ssh:\/\/|git@[\w.-]+:)[^\s\p{C}]+$/u;

/** One sentence in which a person or an agent gives a reason. */
export const Reason = TextOrNull(MAX_REASON);

const SentClient = lazyObject(() => ({
  name: NonEmpty(MAX_NAME).describe("Name of the program, such as `claude-code`."),
  version: TextOrNull(MAX_NAME).default(null).describe("Its version."),
  host: TextOrNull(MAX_NAME).default(null).describe("Machine on which it runs."),
}));

const SentLink = lazyObject(() => ({
  kind: z.enum(RUN_LINK_KINDS).describe("What the address leads to."),
  url: NonEmpty(MAX_URL).regex(ADDRESS, valueError("url must be an https or git address")).describe("An https or git address."),
  title: TextOrNull(MAX_NAME).default(null).describe("Text to show instead of the address."),
}));

export const UpdateRun = lazyObject(() => ({
  client: SentClient.nullable().optional().describe("The program that does the work."),
  links: z.array(SentLink).max(MAX_LINKS).optional().describe("Results of the run. They replace the earlier ones."),
  ended_reason: Reason.optional().describe("Why the run ends or ended, in one sentence."),
})).meta({ id: "RunUpdate" });
export type UpdateRun = z.infer<typeof UpdateRun>;

/** Returns a condition on `runs`: whether this is the given run of the calling agent, even if the agent has moved since. */
export const ownRun = (ctx: Context<Agent>, run_id: string) => and(eq(runs.id, run_id), eq(runs.agent_id, ctx.actor.agent_id));

/** Returns a run of the calling agent. Throws `not_found`. With `lock`, the row stays locked until the transaction ends. */
export async function readOwnRun(ctx: Context<Agent>, run_id: string, lock = false): Promise<RunRow> {
  const query = ctx.db
    .select()
    .from(runs)
    .where(and(ownRun(ctx, run_id), lock ? actingAs(ctx) : undefined));
  const [row] = await (lock ? query.for("no key update") : query);
  if (!row) throw notFound();
  return row;
}

/** Returns the earliest end of a run to which something can still be added. */
export const lateSince = (ctx: Context): Date => addMs(ctx.now(), -LATE_MS);

/** Throws if a run ended too long ago for anything to be added to it. */
export function requireOpen(ctx: Context, { ended_at }: RunRow): void {
  if (ended_at !== null && ended_at < lateSince(ctx))
    throw new DomainError("conflict", "The run ended more than a day ago.", { fields: { code: "run_closed" } });
}

/** Stores what an agent reports about its run. This is possible until a day after the end of the run. */
export const updateRun = (ctx: Context<Agent>, run_id: string, input: UpdateRun): Promise<Run> =>
  transaction(ctx, async (ctx) => {
    const stored = await readOwnRun(ctx, run_id, true);
    requireOpen(ctx, stored);
    const changes = changedFields(stored, input);
    if (isEmpty(changes)) return toRun(stored);
    const [row] = await ctx.db.update(runs).set(changes).where(ownRun(ctx, run_id)).returning();
    return toRun(row!);
  });
