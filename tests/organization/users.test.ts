import { organization_members, organizations, tasks, users } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { setupWorld } from "../support/fixtures.ts";
import { createWorld, type Person } from "../support/world.ts";

const OWNER_MISSING = { detail: "Organization must have at least one owner" };

const world = await setupWorld();
const home = await world.tenant("home");

const ME = "/api/v1/users/me";
const get = async (person: Person) => (await world.call("GET", ME, { token: person.token })).body;
const patch = (person: Person, body: unknown) => world.call("PATCH", ME, { token: person.token, body });
const remove = (person: Person) => world.call("DELETE", ME, { token: person.token });
const list = async (person: Person) => (await world.call("GET", "/organizations/me/list", { token: person.token })).body;
const rowOf = async (person: Person) => (await world.db.select().from(users).where(eq(users.auth_subject, person.subject)))[0];

describe("the current user", () => {
  test("the current user is returned with every field, and signing in creates no organization", async () => {
    const person = await world.person("fresh", { name: "Fresh Person" });
    expect(await get(person)).toEqual({
      id: expect.any(String),
      clerk_user_id: "fresh",
      email: "fresh@example.com",
      name: "Fresh Person",
      preferred_name: null,
      pronouns: null,
      timezone: null,
      notes: null,
      context: null,
      is_super_admin: false,
    });
    expect((await rowOf(person))!.active_organization_id).toBeNull();
  });

  test("a change of the current user trims the sent fields, clears blank and null ones, and ignores unknown keys", async () => {
    const person = await world.person("changing");
    const fields = {
      name: "Full Name",
      preferred_name: "Nick",
      pronouns: "they/them",
      timezone: "Europe/Berlin",
      notes: "Likes short answers",
      context: "Runs the shop",
    };
    const padded = Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, `  ${value}\n`]));
    const changed = await patch(person, { ...padded, email: "other@example.com", is_super_admin: true, id: home.board_id });
    expect(changed.body).toEqual({ ...(await get(person)), ...fields, email: "changing@example.com", is_super_admin: false });
    expect((await patch(person, { pronouns: " ", notes: null, context: "" })).body).toMatchObject({
      ...fields,
      pronouns: null,
      notes: null,
      context: null,
    });
    expect((await patch(person, {})).body).toEqual(await get(person));
  });

  test("a change of the user to the current values does not change the row", async () => {
    const person = await world.person("still");
    await patch(person, { name: "Still", timezone: "UTC" });
    const before = await rowOf(person);
    await patch(person, { name: " Still ", timezone: "UTC", notes: "" });
    expect(await rowOf(person)).toEqual(before);
  });

  test.each(["UTC", "GMT", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Asia/Kolkata", "Etc/GMT+5"])(
    "the time zone %s is accepted",
    async (timezone) => {
      const answer = await patch(home.owner, { timezone });
      expect([answer.status, answer.body.timezone]).toEqual([200, timezone]);
    },
  );

  test.each(["Mars/Olympus", "+01:00", "-0500", "Berlin", "Europe/ Berlin", "UTC+1", "Europe/Berlin;x"])(
    "the time zone %s is refused",
    async (timezone) => {
      const answer = await patch(home.owner, { timezone });
      expect([answer.status, answer.body.detail]).toEqual([
        422,
        [
          {
            type: "value_error",
            loc: ["body", "timezone"],
            msg: "Value error, timezone must be an IANA time zone",
            input: timezone,
          },
        ],
      ]);
    },
  );

  test("a time zone that is too long is reported once, as too long", async () => {
    const refused = await patch(home.owner, { timezone: "x".repeat(100_001) });
    expect([refused.status, refused.body.detail]).toMatchObject([422, [{ type: "string_too_long", loc: ["body", "timezone"] }]]);
  });

  test.each([
    ["name", 200],
    ["preferred_name", 200],
    ["pronouns", 100],
    ["notes", 100_000],
    ["context", 100_000],
  ])("%s may have %i characters and no more", async (field, max) => {
    expect((await patch(home.owner, { [field]: "x".repeat(max) })).status).toBe(200);
    const long = await patch(home.owner, { [field]: "x".repeat(max + 1) });
    expect([long.status, long.body.detail]).toMatchObject([422, [{ type: "string_too_long", loc: ["body", field] }]]);
    expect((await patch(home.owner, { [field]: 5 })).body.detail[0].type).toBe("string_type");
  });
});

describe("deleting the current user", () => {
  test("deleting a user deletes the user's organizations without other members, and leaves the other organizations", async () => {
    const leaver = await world.person("leaver");
    await world.call("GET", "/api/v1/auth/bootstrap", { token: leaver.token });
    const second = (await world.call("POST", "/organizations", { token: leaver.token, body: { name: "Second" } })).body;
    await world.join(leaver, home.organization_id, "admin", { write: true });
    const own = (await list(leaver)).filter((item: { id: string }) => item.id !== home.organization_id);
    expect(own).toHaveLength(2);
    const user = await rowOf(leaver);
    const [task] = await world.db
      .insert(tasks)
      .values({ board_id: home.board_id, title: "Created by the leaver", created_by_user_id: user!.id })
      .returning();

    const answer = await remove(leaver);
    expect([answer.status, answer.body]).toEqual([200, { ok: true }]);
    expect(await rowOf(leaver)).toBeUndefined();
    expect(await world.db.select().from(organization_members).where(eq(organization_members.user_id, user!.id))).toEqual([]);
    const remaining = (await world.db.select({ id: organizations.id }).from(organizations)).map(({ id }) => id);
    expect(remaining).toContain(home.organization_id);
    for (const { id } of own) expect(remaining).not.toContain(id);
    expect(remaining).not.toContain(second.id);
    const [kept] = await world.db.select().from(tasks).where(eq(tasks.id, task!.id));
    expect(kept).toMatchObject({ title: "Created by the leaver", created_by_user_id: null });
  });

  test("signing in again after deletion creates a new user", async () => {
    const person = await world.person("returning");
    const before = await get(person);
    await remove(person);
    const after = await get(person);
    expect(after).toMatchObject({ clerk_user_id: "returning", email: "returning@example.com" });
    expect(after.id).not.toBe(before.id);
  });

  test("the last owner of an organization with other members cannot be deleted", async () => {
    const owner = await world.person("last-owner");
    await world.call("GET", "/api/v1/auth/bootstrap", { token: owner.token });
    const shared = (await world.call("POST", "/organizations", { token: owner.token, body: { name: "Shared" } })).body;
    const guest = await world.person("guest");
    await world.join(guest, shared.id, "admin");
    const before = await list(owner);
    const refused = await remove(owner);
    expect([refused.status, refused.body]).toEqual([422, OWNER_MISSING]);
    expect(await list(owner)).toEqual(before);

    await world.db.update(organization_members).set({ role: "owner" }).where(eq(organization_members.organization_id, shared.id));
    expect((await remove(owner)).status).toBe(200);
    expect((await list(guest)).map((item: { id: string }) => item.id)).toEqual([shared.id]);
  });

  test("a user without any organization can be deleted", async () => {
    const person = await world.person("nobody-yet");
    await get(person);
    expect((await remove(person)).status).toBe(200);
  });

  test("the shared user of local mode cannot be deleted", async () => {
    const token = "t".repeat(50);
    const local = await createWorld({ environment: { AUTH_MODE: "local", LOCAL_AUTH_TOKEN: token } });
    await local.call("GET", "/api/v1/auth/bootstrap", { token });
    const refused = await local.call("DELETE", ME, { token });
    expect([refused.status, refused.body]).toEqual([403, { detail: "The shared local user cannot be deleted" }]);
    expect((await local.call("GET", ME, { token })).body.clerk_user_id).toBe("local-auth-user");
    await local.close();
  });
});
