import {
  channel_deliveries,
  follows,
  jobs,
  organization_members,
  user_notifications,
  users,
} from "@board/core/schema/all-tables";
import { and, count, eq, sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { requestApproval } from "../support/approval.ts";
import { setup, setupWorld } from "../support/fixtures.ts";
import { startMailServer } from "../support/mail-server.ts";
import type { Tenant } from "../support/world.ts";

const FOLLOWERS = Number(process.env["FOLLOWERS"] ?? 1_100);
const APPROVALS = 3;
const server = await setup(startMailServer());
const world = await setupWorld({ environment: server.environment });

/** People with write access who follow the board. */
async function addFollowers({ organization_id, board_id }: Tenant, number: number): Promise<void> {
  await world.db.execute(sql`with person as (
      insert into ${users} (auth_issuer, auth_subject, email)
      select 'many', 'follower-' || n, 'follower-' || n || '@example.com' from generate_series(1, ${number}) as n returning id),
    member as (insert into ${organization_members} (organization_id, user_id, role, all_boards_read, all_boards_write)
      select ${organization_id}, id, 'member', true, true from person returning user_id)
    insert into ${follows} (organization_id, board_id, user_id, following)
      select ${organization_id}, ${board_id}, id, true from person`);
}

test("a board with many followers costs the request no statement more, and they are notified in parts of 500", async () => {
  const home = await world.tenant("followed");
  // The first request also prepares statements.
  await requestApproval(world, home);
  const few = await world.countStatements(() => requestApproval(world, home));
  await addFollowers(home, FOLLOWERS);
  expect(await world.countStatements(() => requestApproval(world, home))).toBe(few);
  server.refuse(451);
  await world.drain();
  server.refuse(null);
  const ofHome = eq(user_notifications.organization_id, home.organization_id);
  const [told] = await world.db.select({ total: count() }).from(user_notifications).where(ofHome);
  expect(told!.total).toBe(APPROVALS * (FOLLOWERS + 1));
  const parts = await world.db
    .select({ id: jobs.id })
    .from(jobs)
    .where(and(eq(jobs.kind, "people.tell"), eq(jobs.organization_id, home.organization_id)));
  expect(parts).toHaveLength(APPROVALS * Math.ceil((FOLLOWERS + 1) / 500));
  const [pending] = await world.db
    .select({ total: count() })
    .from(channel_deliveries)
    .where(and(eq(channel_deliveries.organization_id, home.organization_id), eq(channel_deliveries.status, "pending")));
  expect(pending!.total).toBeGreaterThan(0);
});

test("people of another organization get their mails while the mails of a large one wait", async () => {
  const other = await world.tenant("other");
  await world.db.update(users).set({ email: "other@example.com" }).where(eq(users.auth_subject, "other"));
  await requestApproval(world, other);
  await world.drain();
  expect(server.mails.filter(({ recipients }) => recipients.includes("other@example.com"))).toHaveLength(1);
});
