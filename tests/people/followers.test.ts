import {
  follows,
  jobs,
  notification_preferences,
  organization_members,
  user_notifications,
  users,
} from "@board/core/schema/all-tables";
import { and, count, eq, sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { requestApproval } from "../support/approval.ts";
import { setup, setupWorld } from "../support/fixtures.ts";
import { addTask } from "../support/task.ts";
import { startMailServer } from "../support/mail-server.ts";
import type { Tenant } from "../support/world.ts";

const FOLLOWERS = Number(process.env["FOLLOWERS"] ?? 1_100);
const APPROVALS = 2;
const FEW_FOLLOWERS = 20;
/** More e-mails than one job sends. */
const MAILED = 60;
const server = await setup(startMailServer());
const world = await setupWorld({ environment: server.environment });

/** Adds people with write access who follow the board. They have an e-mail address only if `name` is given. */
async function addFollowers({ organization_id, board_id }: Tenant, number: number, name: string | null): Promise<void> {
  await world.db.execute(sql`with person as (
      insert into ${users} (auth_issuer, auth_subject, email)
      select 'many', ${name ?? organization_id}::text || '-' || n, ${name}::text || '-' || n || '@example.com' from generate_series(1, ${number}) as n returning id),
    member as (insert into ${organization_members} (organization_id, user_id, role, all_boards_read, all_boards_write)
      select ${organization_id}, id, 'member', true, true from person returning user_id)
    insert into ${follows} (organization_id, board_id, user_id, following)
      select ${organization_id}, ${board_id}, id, true from person`);
}

/** Counts the statements of a request. The smallest of several counts leaves out statements that only some requests send. */
async function countLeast(home: Tenant): Promise<number> {
  const counts: number[] = [];
  for (let number = 0; number < APPROVALS; number++) counts.push(await world.countStatements(() => requestApproval(world, home)));
  return Math.min(...counts);
}

test("a request needs no additional statement when many people follow its board, and they are notified in parts of 500", async () => {
  const home = await world.tenant("followed");
  const few = await countLeast(home);
  await addFollowers(home, FOLLOWERS, null);
  expect(await countLeast(home)).toBe(few);
  await world.drain();
  const ofHome = eq(user_notifications.organization_id, home.organization_id);
  const [told] = await world.db.select({ total: count() }).from(user_notifications).where(ofHome);
  expect(told!.total).toBe(2 * APPROVALS * (FOLLOWERS + 1));
  const parts = await world.db
    .select({ id: jobs.id })
    .from(jobs)
    .where(and(eq(jobs.kind, "people.tell"), eq(jobs.organization_id, home.organization_id)));
  expect(parts).toHaveLength(2 * APPROVALS * Math.ceil((FOLLOWERS + 1) / 500));
});

test("a move of a task needs no additional statement when many people follow the task", async () => {
  const home = await world.tenant("moved");
  const move = async () => {
    const { id } = await addTask(world, home, { title: "Paint", status: "in_progress" });
    const path = `/api/v1/boards/${home.board_id}/tasks/${id}`;
    const send = () => world.call("PATCH", path, { token: home.owner.token, body: { status: "blocked" } });
    return world.countStatements(async () => expect((await send()).status).toBe(200));
  };
  await move();
  const few = await move();
  await addFollowers(home, FEW_FOLLOWERS, null);
  expect(await move()).toBe(few);
  await world.drain();
  const isOfHome = and(eq(user_notifications.organization_id, home.organization_id), eq(user_notifications.type, "task.blocked"));
  const [told] = await world.db.select({ total: count() }).from(user_notifications).where(isOfHome);
  expect(told!.total).toBeGreaterThanOrEqual(FEW_FOLLOWERS);
});

test("mails to many people are sent without pauses, and mails of another organization are sent in between", async () => {
  const home = await world.tenant("mailed");
  await world.db.update(users).set({ email: "mailed@example.com" }).where(eq(users.auth_subject, "mailed"));
  const near = await world.tenant("near");
  await world.db.update(users).set({ email: "near@example.com" }).where(eq(users.auth_subject, "near"));
  await addFollowers(home, MAILED, "mailed");
  const before = server.mails.length;
  await requestApproval(world, home);
  await requestApproval(world, near);
  await world.drain();
  const order = server.mails.slice(before).flatMap(({ recipients }) => recipients);
  expect(order.filter((address) => address.startsWith("mailed-"))).toHaveLength(MAILED);
  expect(order.indexOf("near@example.com")).toBeLessThan(60);
});

test("each of many people gets the digest as one mail", async () => {
  const home = await world.tenant("digested");
  await addFollowers(home, MAILED, "digested");
  await world.db.execute(sql`insert into ${notification_preferences} (user_id, choices, digest_time, time_zone)
    select id, '{"approval.requested": {"email": "digest"}}', '08:00', 'UTC' from ${users} where email like 'digested-%'`);
  for (let number = 0; number < APPROVALS; number++) await requestApproval(world, home);
  await world.drain();
  world.elapse(86_400_000 + 60_000);
  await world.drain();
  const mails = server.mails.filter(({ recipients }) => recipients[0]!.startsWith("digested-"));
  expect(new Set(mails.map(({ subject }) => subject))).toEqual(new Set([`${APPROVALS} things happened on your boards`]));
  expect(mails).toHaveLength(MAILED);
});
