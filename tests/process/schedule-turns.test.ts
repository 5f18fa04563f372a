import { announcePresence, GONE_AFTER_SECONDS, listProcesses, withdrawPresence } from "@board/core/process/presence";
import { endTurn, renewTurn, takeAbandonedTurns, takeTurn } from "@board/core/process/schedule-turn";
import { processes, schedule_turns, stream_leases } from "@board/core/schema/all-tables";
import { scheduled } from "@board/api/work/schedules";
import { eq, sql } from "drizzle-orm";
import { beforeEach, expect, test } from "vitest";
import { setupWorld } from "../support/fixtures.ts";

const world = await setupWorld();
const [one, other] = [crypto.randomUUID(), crypto.randomUUID()];
const at = (minute: number) => new Date(Date.UTC(2026, 10, 25, 12, minute));
const turn = (process_id: string, minute: number) => ({ name: "relay", tick_at: at(minute), process_id });

beforeEach(async () => {
  await world.db.delete(schedule_turns);
  await world.db.delete(processes);
});

/** Makes the run of the schedule look as if its process had ended a minute ago. */
const abandon = () => world.db.update(schedule_turns).set({ renewed_at: sql`clock_timestamp() - interval '1 minute'` });

test("each run of a schedule is taken by only one process", async () => {
  const ctx = world.context();
  const taken = await Promise.all([takeTurn(ctx, turn(one, 0)), takeTurn(ctx, turn(other, 0))]);
  expect(taken.toSorted()).toEqual([false, true]);
  const winner = taken[0] ? one : other;
  await endTurn(ctx, turn(winner, 0));
  expect(await takeTurn(ctx, turn(other, 0))).toBe(false);
  expect(await takeTurn(ctx, turn(other, 1))).toBe(true);
});

test("a run of a schedule is not taken while another process still works on the previous run", async () => {
  const ctx = world.context();
  await takeTurn(ctx, turn(one, 0));
  expect(await takeTurn(ctx, turn(other, 1))).toBe(false);
  expect(await takeAbandonedTurns(ctx, other)).toEqual([]);
});

test("the scheduled run of a process that has ended is taken over once, and a run that is still renewed is not taken over", async () => {
  const ctx = world.context();
  await takeTurn(ctx, turn(one, 0));
  await abandon();
  await renewTurn(ctx, turn(one, 0));
  expect(await takeAbandonedTurns(ctx, other)).toEqual([]);
  await abandon();
  expect(await takeAbandonedTurns(ctx, other)).toEqual([turn(other, 0)]);
  expect(await takeAbandonedTurns(ctx, one)).toEqual([]);
});

test("a process that has lost its scheduled run does not end the run for the process that took it over", async () => {
  const ctx = world.context();
  await takeTurn(ctx, turn(one, 0));
  await abandon();
  await takeAbandonedTurns(ctx, other);
  await endTurn(ctx, turn(one, 0));
  expect(await takeTurn(ctx, turn(one, 1))).toBe(false);
  await endTurn(ctx, turn(other, 0));
  expect(await takeTurn(ctx, turn(one, 1))).toBe(true);
});

test("a process is listed with the difference of its clock until it stops or is no longer seen", async () => {
  const ctx = world.context();
  const ahead = { ...ctx, now: () => new Date(Date.now() + 5_000) };
  await announcePresence(ahead, { id: one, name: "host:1" });
  await announcePresence(ctx, { id: other, name: "host:2" });
  const [listed, second] = await listProcesses(ctx);
  expect(listed).toMatchObject({ name: "host:1" });
  expect(Math.round(listed!.clock_ahead_ms / 1000)).toBe(5);
  expect(second).toMatchObject({ name: "host:2" });
  await withdrawPresence(ctx, one);
  await world.db
    .update(processes)
    .set({ seen_at: sql`clock_timestamp() - make_interval(secs => ${GONE_AFTER_SECONDS + 1})` })
    .where(eq(processes.id, other));
  expect(await listProcesses(ctx)).toEqual([]);
});

test("the hourly schedule removes processes that are long gone, with their streams", async () => {
  const ctx = world.context();
  await world.db
    .insert(processes)
    .values({ id: one, name: "host:1", clock_ahead_ms: 0, seen_at: new Date(Date.now() - 3_600_000) });
  const lease = { caller_id: crypto.randomUUID(), expires_at: sql`'infinity'::timestamptz`, process_id: one };
  await world.db.insert(stream_leases).values({ id: crypto.randomUUID(), ...lease });
  await scheduled.retention(ctx);
  expect([await world.db.$count(processes), await world.db.$count(stream_leases)]).toEqual([0, 0]);
});
