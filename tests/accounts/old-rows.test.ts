import { oauthClient } from "@board/accounts/oauth-tables.sql";
import { rateLimit, session } from "@board/accounts/tables.sql";
import { like } from "drizzle-orm";
import { expect, test } from "vitest";
import { connect, startProgram } from "./program.ts";
import { setupAccounts } from "./support.ts";

const ORIGIN = "https://board.example";
const HOUR_MS = 3_600_000;

const { world, openOwner, openBrowser, openMachine } = await setupAccounts({ environment: { BASE_URL: ORIGIN } });

const register = (client_name: string) =>
  openBrowser().send("POST", "/api/auth/oauth2/register", {
    client_name,
    application_type: "native",
    response_types: ["code"],
    redirect_uris: ["http://127.0.0.1:7777/callback"],
    grant_types: ["authorization_code"],
    token_endpoint_auth_method: "none",
  });
const clientNames = async () =>
  (await world.db.select({ name: oauthClient.name }).from(oauthClient).orderBy(oauthClient.createdAt)).map(({ name }) => name);

test("clients that registered and never connected are removed, and clients that people connected stay", async () => {
  const owner = await openOwner();
  await connect(startProgram({ request: openMachine(), origin: ORIGIN, metadata: { client_name: "Connected" } }), owner);
  expect((await register("Abandoned")).status).toBe(201);
  world.elapse(0.5 * HOUR_MS);
  await register("Half an hour later");
  expect(await clientNames()).toEqual(expect.arrayContaining(["Connected", "Abandoned", "Half an hour later"]));
  world.elapse(2 * HOUR_MS);
  await register("Last");
  const left = await clientNames();
  expect(left).toContain("Connected");
  expect(left).not.toContain("Abandoned");
  expect(left).not.toContain("Half an hour later");
});

test("rate limit counters of addresses that have stopped guessing are removed, and counters of other addresses stay", async () => {
  const guess = (address: string) => openBrowser(address).send("POST", "/api/auth/sign-in/link", { token: "a guess" });
  const setLast = (address: string, lastRequest: number) =>
    world.db
      .update(rateLimit)
      .set({ lastRequest })
      .where(like(rateLimit.key, `${address}%`));
  const addresses = ["10.8.0.1", "10.8.0.2", "10.8.0.3"];
  for (const address of addresses) await guess(address);
  world.elapse(HOUR_MS / 2);
  // The times are set by the test's clock, because the library used the clock of the machine, which is behind it.
  for (const address of addresses.slice(0, 2)) await setLast(address, world.now().getTime() - 2 * HOUR_MS);
  await setLast("10.8.0.3", world.now().getTime());
  await register("Another");
  const left = await world.db.select({ key: rateLimit.key }).from(rateLimit).where(like(rateLimit.key, "10.8.0.%"));
  expect(left.map(({ key }) => key)).toEqual([expect.stringContaining("10.8.0.3")]);
});

test("expired sessions are removed, and other sessions continue", async () => {
  const [one, other] = [await openOwner(), await openOwner()];
  const sessions = () => world.db.$count(session);
  const before = await sessions();
  await world.db.execute(
    `update accounts.session set expires_at = now() - interval '2 days' where token = (select token from accounts.session order by created_at desc limit 1)`,
  );
  world.elapse(HOUR_MS);
  await register("Another");
  expect(await sessions()).toBe(before - 1);
  const statuses = await Promise.all([one, other].map(async (person) => (await person.send("GET", "/api/v1/users/me")).status));
  expect(statuses.toSorted((a, b) => a - b)).toEqual([200, 401]);
});
