import { api_keys, organization_invites, organization_members, users } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { beforeEach, expect, test } from "vitest";
import { createGuest, createInviteCalls, emailOf } from "./invite-calls.ts";
import { setupWorld } from "../support/fixtures.ts";
import type { Person } from "../support/world.ts";

const DETAIL = "Ask an admin for a new invite: the person who sent this one may no longer invite.";
const REFUSED = [403, { detail: DETAIL }, "no member", "open"];

let inviter: Person & { member_id: string };
let guest: Person;

const world = await setupWorld();
const home = await world.tenant("home");

beforeEach(async () => {
  const person = await createGuest(world);
  inviter = { ...person, member_id: await world.join(person, home.organization_id, "admin") };
  guest = await createGuest(world);
});

const { call, accept, membership, list, userOf } = createInviteCalls("/organizations", () => ({ world, home }));
const member = () => `/me/members/${inviter.member_id}`;
const invite = async (body: object = {}) =>
  (await call(inviter, "POST", "/me/invites", { invited_email: emailOf(guest), ...body })).body;
const setRole = (role: string) => call(home.owner, "PATCH", member(), { role });

/** Lets the guest accept an invite. Returns the answer, whether the guest is a member, and whether the invite is still open. */
async function refusalOf(token: string): Promise<unknown[]> {
  const { status, body } = await accept(guest, token);
  const invites = eq(organization_invites.invited_email, emailOf(guest));
  const [stored] = await world.db.select().from(organization_invites).where(invites);
  return [status, body, (await membership(guest)) ?? "no member", stored?.accepted_at ?? "open"];
}

test.each<[string, () => Promise<unknown>]>([
  ["was removed from the organization", () => call(home.owner, "DELETE", member())],
  ["was demoted to member", () => setRole("member")],
  ["has deleted the account", () => world.call("DELETE", "/api/v1/users/me", { token: inviter.token })],
])("an invite cannot be accepted after the person who sent it %s", async (_what, lose) => {
  const { token } = await invite({ role: "owner" });
  expect(await lose()).toMatchObject({ status: 200 });
  expect(await refusalOf(token)).toEqual(REFUSED);
});

test("an invite can be accepted again once its sender, who was demoted to member, is an admin again", async () => {
  const { token } = await invite();
  await setRole("member");
  expect(await refusalOf(token)).toEqual(REFUSED);
  await setRole("admin");
  expect((await accept(guest, token)).status).toBe(200);
});

const expire = (id: string) =>
  world.db
    .update(api_keys)
    .set({ expires_at: new Date(0) })
    .where(eq(api_keys.id, id));
const revoke = (id: string) => world.call("DELETE", `/api/v1/keys/${id}`, { token: home.owner.token });

test.each<[string, (id: string) => Promise<unknown>]>([
  ["has expired", expire],
  ["is revoked", revoke],
])("an invite that a key has sent cannot be accepted once the key %s", async (_what, end) => {
  const sent = { token: home.owner.token, body: { name: "Inviter", access: "admin" } };
  const { id, key } = (await world.call("POST", "/api/v1/keys", sent)).body;
  const body = { invited_email: emailOf(guest) };
  const { token } = (await world.call("POST", "/organizations/me/invites", { token: key, body })).body;
  await end(id);
  expect(await refusalOf(token)).toEqual(REFUSED);
});

test("an invite can be accepted after its sender was demoted from owner to admin, even if it gives the role owner", async () => {
  await setRole("owner");
  const { token } = await invite({ role: "owner" });
  await setRole("admin");
  expect((await accept(guest, token)).body.role).toBe("owner");
});

test("being an admin of another organization does not keep an invite valid", async () => {
  const abroad = await world.tenant(`abroad-${crypto.randomUUID()}`);
  const { token } = await invite();
  const { id: user_id } = await userOf(inviter);
  await world.db.insert(organization_members).values({ organization_id: abroad.organization_id, user_id, role: "owner" });
  await call(home.owner, "DELETE", member());
  expect(await refusalOf(token)).toEqual(REFUSED);
});

test("an admin can remove the invite of somebody who left and invite the person again", async () => {
  const { id, token } = await invite();
  await call(home.owner, "DELETE", member());
  expect((await list()).items).toContainEqual(expect.objectContaining({ id }));
  expect((await call(home.owner, "DELETE", `/me/invites/${id}`)).status).toBe(200);
  const renewed = await call(home.owner, "POST", "/me/invites", { invited_email: emailOf(guest) });
  expect((await accept(guest, token)).status).toBe(404);
  expect((await accept(guest, renewed.body.token)).status).toBe(200);
});

test("refusing an invite for another address reveals nothing about the person who sent it", async () => {
  const { token } = await invite();
  await world.db.delete(users).where(eq(users.auth_subject, inviter.subject));
  const refused = await accept(await createGuest(world), token);
  expect([refused.status, refused.body]).toEqual([403, { detail: "Invite is for another email" }]);
});
