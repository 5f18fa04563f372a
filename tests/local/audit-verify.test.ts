import { openPostgres } from "@board/core/db/postgres";
import { audit_events } from "@board/core/schema/all-tables";
import { silentLog } from "@board/core/values/log";
import { and, eq, sql } from "drizzle-orm";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { cleanUpPrograms, runProgram } from "../support/program.ts";
import { copyTemplate } from "../support/test-database.ts";
import { createWorld } from "../support/world.ts";

afterAll(cleanUpPrograms);

test("npm run jobs -- audit-verify says that all chains are whole, and names the first changed entry and exits with 1 after a change", async () => {
  const copy = await copyTemplate();
  onTestFinished(() => copy.drop());
  const database = openPostgres(copy.url, { log: silentLog });
  onTestFinished(() => database.close());
  const { db } = database;
  const world = await createWorld({ database });
  onTestFinished(() => world.close());
  const [home, other] = [await world.tenant("home"), await world.tenant("other")];
  for (const { token } of [home.owner, other.owner])
    for (const name of ["One", "Two", "Three"])
      await world.call("POST", "/api/v1/keys", { token, body: { name, access: "read" } });
  const all = await db.$count(audit_events);
  const ofHome = eq(audit_events.organization_id, home.organization_id);
  const entries = await db.$count(audit_events, ofHome);
  const verify = () => runProgram("jobs", { DATABASE_URL: copy.url }, ["audit-verify"]);
  expect(entries).toBeGreaterThan(2);
  expect(await verify()).toMatchObject({ code: 0, stdout: `Verified ${all} entries of 2 organizations.\n`, stderr: "" });

  // Somebody with full access to the database can disable the trigger that refuses changes.
  await db.execute(sql`alter table audit_events disable trigger no_update_of_audit_events`);
  await db.update(audit_events).set({ actor_name: "Somebody else" }).where(and(ofHome, sql`seq > 1`));
  const [first] = await db
    .select()
    .from(audit_events)
    .where(and(ofHome, eq(audit_events.seq, 2)));
  expect(await verify()).toMatchObject({
    code: 1,
    stdout: `Verified ${all - entries + 1} entries of 2 organizations.\n`,
    stderr: `Organization ${home.organization_id}: Entry 2 (${first!.id}) was changed.\n`,
  });
});
