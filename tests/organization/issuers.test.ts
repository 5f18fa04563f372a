import { recheckUsers } from "@board/core/organization/user";
import { users } from "@board/core/schema/all-tables";
import { openTestDatabase } from "../support/world.ts";
import { and, eq, ne } from "drizzle-orm";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Database } from "@board/core/db/database";
import { listen } from "../support/sse.ts";
import { createWorld, type World } from "../support/world.ts";

/** The database of services with different identity providers, as after a change of OIDC_ISSUER. */
let database: Database;
let open: World[] = [];
beforeEach(async () => {
  database = await openTestDatabase();
});
afterEach(async () => {
  for (const world of open) await world.close();
  open = [];
  await database.close();
});

const LOCAL_TOKEN = "local-token-".padEnd(60, "x");
async function start(environment: Record<string, string> = {}): Promise<World> {
  const world = await createWorld({ database, environment, streams: { poll_ms: 20 } });
  open.push(world);
  return world;
}
const startLocal = () => start({ AUTH_MODE: "local", LOCAL_AUTH_TOKEN: LOCAL_TOKEN });

const signIn = async (world: World, subject: string): Promise<string> =>
  (await world.call("GET", "/api/v1/users/me", { token: await world.identities.token(subject) })).body.id;
const signInLocally = async (world: World): Promise<string> =>
  (await world.call("GET", "/api/v1/users/me", { token: LOCAL_TOKEN })).body.id;
/** Makes all users look as they did before issuers were stored. */
const forgetIssuers = () => database.db.update(users).set({ auth_issuer: "" });

test("the same subject of another issuer is another person", async () => {
  const [before, after] = [await start(), await start()];
  const first = await signIn(before, "ann");
  const second = await signIn(after, "ann");
  expect(second).not.toBe(first);
  expect([await signIn(before, "ann"), await signIn(after, "ann")]).toEqual([first, second]);
});

test("a user from before issuers were stored keeps the account at the first sign-in", async () => {
  const world = await start();
  const id = await signIn(world, "ann");
  await forgetIssuers();
  expect([await signIn(world, "ann"), await signIn(world, "ann")]).toEqual([id, id]);
  expect(await database.db.select().from(users)).toMatchObject([{ auth_issuer: world.identities.issuer, auth_subject: "ann" }]);
});

test("the first sign-in assigns all earlier users to the issuer, so that no later issuer can take over a user", async () => {
  const [before, after] = [await start(), await start()];
  const ann = await signIn(before, "ann");
  const bob = await signIn(before, "bob");
  await forgetIssuers();
  await signIn(before, "ann");
  expect([await signIn(after, "ann"), await signIn(after, "bob")]).not.toContain(ann);
  expect(await signIn(after, "bob")).not.toBe(bob);
  expect(await signIn(before, "bob")).toBe(bob);
});

test("an identity provider cannot take over the user of local mode, nor local mode a user of a provider", async () => {
  const [local, oidc] = [await startLocal(), await start()];
  const shared = await signInLocally(local);
  const ann = await signIn(oidc, "ann");
  await forgetIssuers();
  expect(await signIn(oidc, "local-auth-user")).not.toBe(shared);
  expect([await signInLocally(local), await signIn(oidc, "ann")]).toEqual([shared, ann]);

  // The result is the same when local mode signs in first.
  await database.db.delete(users).where(and(eq(users.auth_subject, "local-auth-user"), ne(users.id, shared)));
  await forgetIssuers();
  expect([await signInLocally(local), await signIn(oidc, "ann")]).toEqual([shared, ann]);
});

test("a user who is stored both with and without an issuer signs in as the row that has one, and blocks no other sign-in", async () => {
  const world = await start();
  const [ann, bob] = [await signIn(world, "ann"), await signIn(world, "bob")];
  await database.db.update(users).set({ auth_issuer: "" }).where(eq(users.auth_subject, "bob"));
  await database.db.insert(users).values({ auth_subject: "ann" });
  expect([await signIn(world, "bob"), await signIn(world, "ann")]).toEqual([bob, ann]);
});

test("a sign-in takes one statement once the issuer is stored", async () => {
  const statements: string[] = [];
  const own = await openTestDatabase(statements);
  const world = await createWorld({ database: own });
  await signIn(world, "ann");
  const { token } = await world.person("ann");
  statements.length = 0;
  await world.call("PATCH", "/api/v1/users/me", { token, body: {} });
  // The second statement reads the profile.
  expect(statements).toHaveLength(2);
  await world.close();
  await own.close();
});

test("an open stream ends when its user is deleted, even if another issuer has a user with the same subject", async () => {
  const [before, after] = [await start(), await start()];
  const home = await before.tenant("ann");
  await signIn(after, "ann");
  const path = `/api/v1/boards/${home.board_id}/memory`;
  const stream = await listen((target, init) => before.app.request(target, init), `${path}/stream`, home.owner);
  for (const content of ["one", "two"]) {
    await before.call("POST", path, { agent: home.worker.token, body: { content } });
    await stream.waitForEvents(content === "one" ? 1 : 2);
  }
  await database.db.delete(users).where(eq(users.auth_issuer, before.identities.issuer));
  expect(await stream.waitForEnd()).toBe(true);
});

test("users of several issuers are found again together, each under its own issuer", async () => {
  const [first, second] = [await start(), await start()];
  const [ann, otherAnn, bob] = [await signIn(first, "ann"), await signIn(second, "ann"), await signIn(second, "bob")];
  const session = ({ identities }: World, subject: string) => ({
    identity: { issuer: identities.issuer, subject },
    organization_id: null,
  });
  const sessions = [session(first, "ann"), session(second, "bob"), session(second, "ann"), session(first, "bob")];
  const found = await recheckUsers(first.context(), sessions);
  expect(found.map((user) => user?.user_id)).toEqual([ann, bob, otherAnn, undefined]);
});
