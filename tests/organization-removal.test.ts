import { users } from "@board/core/db/schema";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createWorld, type Person, type World } from "./support/world.ts";

/** Who may delete an organization, and where its people and agents are then; organization-cleanup.test.ts has what is left of it. */
let world: World;

beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());

const removeActive = (person: Person, prefix = "/organizations") => world.call("DELETE", `${prefix}/me`, { token: person.token });

describe("deleting an organization", () => {
  test("is for owners, under both prefixes", async () => {
    for (const prefix of ["/organizations", "/api/v1/organizations"]) {
      const person = await world.person(`owner ${prefix}`);
      const made = (await world.call("POST", prefix, { token: person.token, body: { name: "Short-lived" } })).body;
      const admin = await world.person(`admin ${prefix}`);
      await world.join(admin, made.id, "admin", { read: true, write: true });
      const member = await world.person(`member ${prefix}`);
      await world.join(member, made.id, "member");
      const refusedAdmin = await removeActive(admin, prefix);
      expect([refusedAdmin.status, refusedAdmin.body]).toEqual([
        403,
        { detail: "Only organization owners can delete organizations" },
      ]);
      const refusedMember = await removeActive(member, prefix);
      expect([refusedMember.status, refusedMember.body]).toEqual([403, { detail: "Forbidden" }]);
      expect((await removeActive(person, prefix)).status).toBe(200);
    }
  });

  test("works for a personal organization that was made by itself; the next request makes a new one", async () => {
    const person = await world.person("personal");
    const first = (await world.call("GET", "/organizations/me", { token: person.token })).body;
    expect((await removeActive(person)).status).toBe(200);
    const second = (await world.call("GET", "/organizations/me", { token: person.token })).body;
    expect([second.name, second.id === first.id]).toEqual(["Personal", false]);
  });

  test("members work on in their oldest other membership, in none without one, and where they are if they are elsewhere", async () => {
    const owner = await world.person("owner");
    const create = async (person: Person, name: string) =>
      (await world.call("POST", "/organizations", { token: person.token, body: { name } })).body.id as string;
    const doomed = await create(owner, "Doomed");
    const [rich, poor, away] = [await world.person("rich"), await world.person("poor"), await world.person("away")];
    for (const one of [rich, poor, away]) await world.join(one, doomed, "member");
    const oldest = await create(rich, "Oldest");
    await create(rich, "Newest");
    await world.call("PATCH", "/organizations/me/active", { token: rich.token, body: { organization_id: doomed } });
    const elsewhere = await create(away, "Elsewhere");
    expect((await removeActive(owner)).status).toBe(200);
    const active = async (person: Person) =>
      (await world.db.select().from(users).where(eq(users.auth_subject, person.subject)))[0]!.active_organization_id;
    expect([await active(rich), await active(poor), await active(away), await active(owner)]).toEqual([
      oldest,
      null,
      elsewhere,
      null,
    ]);
  });

  test("ends what its agents could do at once", async () => {
    const home = await world.tenant("home");
    expect((await world.call("GET", "/api/v1/agent/healthz", { agent: home.lead.token })).status).toBe(200);
    await removeActive(home.owner);
    for (const agent of [home.lead.token, home.worker.token])
      expect((await world.call("GET", "/api/v1/agent/healthz", { agent })).status).toBe(401);
  });
});
