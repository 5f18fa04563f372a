/**
 * Tests who may delete an organization, and the effects on its people and agents. cleanup.test.ts tests its rows and its host.
 */
import { users } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { setupWorld } from "../support/fixtures.ts";
import type { Person } from "../support/world.ts";

const world = await setupWorld();

const removeActive = (person: Person, prefix = "/organizations") => world.call("DELETE", `${prefix}/me`, { token: person.token });

describe("access to deleting an organization, and its effects", () => {
  test("only owners can delete an organization, under both path prefixes", async () => {
    for (const prefix of ["/organizations", "/api/v1/organizations"]) {
      const person = await world.person(`owner ${prefix}`);
      const created = (await world.call("POST", prefix, { token: person.token, body: { name: "Short-lived" } })).body;
      const admin = await world.person(`admin ${prefix}`);
      await world.join(admin, created.id, "admin", { read: true, write: true });
      const member = await world.person(`member ${prefix}`);
      await world.join(member, created.id, "member");
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

  test("a Personal organization can be deleted, and the next request creates a new one", async () => {
    const person = await world.person("personal");
    const first = (await world.call("GET", "/organizations/me", { token: person.token })).body;
    expect((await removeActive(person)).status).toBe(200);
    const second = (await world.call("GET", "/organizations/me", { token: person.token })).body;
    expect([second.name, second.id === first.id]).toEqual(["Personal", false]);
  });

  test("members move to their oldest other membership or to none, and keep another active organization", async () => {
    const owner = await world.person("owner");
    const create = async (person: Person, name: string) =>
      (await world.call("POST", "/organizations", { token: person.token, body: { name } })).body.id as string;
    const deleted = await create(owner, "Deleted");
    const [withOthers, withoutOthers, elsewhereActive] = [
      await world.person("with-others"),
      await world.person("without-others"),
      await world.person("elsewhere"),
    ];
    for (const person of [withOthers, withoutOthers, elsewhereActive]) await world.join(person, deleted, "member");
    const oldest = await create(withOthers, "Oldest");
    await create(withOthers, "Newest");
    await world.call("PATCH", "/organizations/me/active", { token: withOthers.token, body: { organization_id: deleted } });
    const elsewhere = await create(elsewhereActive, "Elsewhere");
    expect((await removeActive(owner)).status).toBe(200);
    const active = async (person: Person) =>
      (await world.db.select().from(users).where(eq(users.auth_subject, person.subject)))[0]!.active_organization_id;
    expect([await active(withOthers), await active(withoutOthers), await active(elsewhereActive), await active(owner)]).toEqual([
      oldest,
      null,
      elsewhere,
      null,
    ]);
  });

  test("deleting an organization revokes its agents' tokens at once", async () => {
    const home = await world.tenant("home");
    expect((await world.call("GET", "/api/v1/agent/healthz", { agent: home.lead.token })).status).toBe(200);
    await removeActive(home.owner);
    for (const agent of [home.lead.token, home.worker.token])
      expect((await world.call("GET", "/api/v1/agent/healthz", { agent })).status).toBe(401);
  });
});
