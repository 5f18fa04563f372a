import { expect, test } from "vitest";
import { setup } from "../support/fixtures.ts";
import { startMailServer } from "../support/mail-server.ts";
import { openAuthenticator } from "./authenticator.ts";
import { type Browser, PASSWORD, setupAccounts } from "./support.ts";

const ORIGIN = "https://board.example";
const mail = await setup(startMailServer());
/** The clock is stopped, so that all mails of a test are requested in the same minute. */
const started = new Date();
const { world, openOwner, openBrowser, invite, joinBy, signIn } = await setupAccounts({
  clock: () => started,
  environment: { BASE_URL: ORIGIN, AUTH_FAILURES_PER_MINUTE: "20", ...mail.environment },
});
const owner = await openOwner();
const addMember = async (email: string) => (await joinBy(await invite(owner, email), email)).browser;
const emailOf = async (browser: Browser) => (await browser.send("GET", "/api/v1/users/me")).body.email as string | null;
const mailsTo = (email: string) => mail.mails.filter(({ recipients }) => recipients.includes(email));
const askForLink = (browser: Browser, email?: string) => browser.send("POST", "/api/auth/email-link", email ? { email } : {});
const verify = (browser: Browser, token: string) => browser.send("POST", "/api/auth/email-link/verify", { token });

/** Returns the token of the last mail that verifies an address. */
async function readToken(email: string): Promise<string> {
  const find = () => mailsTo(email).findLast(({ text }) => text!.includes("#email="));
  await world.drain();
  return new RegExp(`^${ORIGIN}/#email=(\\S+)$`, "m").exec(find()!.text!)![1]!;
}

test("a signed-in person verifies the address by a mailed link once, and loses no session and no way to sign in", async () => {
  const person = await addMember("ann@example.com");
  const authenticator = openAuthenticator({ origin: ORIGIN });
  const options = await person.send("GET", "/api/auth/passkey/generate-register-options");
  await person.send("POST", "/api/auth/passkey/verify-registration", { response: authenticator.create(options.body) });
  expect(await emailOf(person)).toBeNull();
  expect((await askForLink(person)).status).toBe(200);
  const token = await readToken("ann@example.com");
  expect((await verify(person, token)).status).toBe(200);
  expect(await emailOf(person)).toBe("ann@example.com");
  expect((await signIn("ann@example.com", PASSWORD)).status).toBe(200);
  expect((await person.send("GET", "/api/auth/passkey/list-user-passkeys")).body).toHaveLength(1);
  expect((await verify(person, token)).status).toBe(401);
  const [entry] = (await owner.send("GET", "/api/v1/audit?action=account.changed")).body.items;
  expect(entry).toMatchObject({ target: { name: "ann@example.com" }, changes: { changed: [null, "email verified"] } });
});

test("a link that verifies an address counts only in a session of the account that asked for it", async () => {
  const mallory = await addMember("mallory@example.com");
  await mallory.send("POST", "/api/auth/change-email", { newEmail: "victim@example.com" });
  await askForLink(mallory);
  const token = await readToken("victim@example.com");
  const other = await addMember("other@example.com");
  expect((await verify(openBrowser(), token)).status).toBe(401);
  expect((await verify(other, token)).status).toBe(403);
  expect([await emailOf(mallory), await emailOf(other)]).toEqual([null, null]);
  // Another person's attempt does not use up the link.
  expect((await verify(mallory, token)).status).toBe(200);
});

test("a link that verifies an address does not verify an address that the person has entered later", async () => {
  const person = await addMember("first@example.com");
  await askForLink(person);
  const token = await readToken("first@example.com");
  await person.send("POST", "/api/auth/change-email", { newEmail: "second@example.com" });
  expect((await verify(person, token)).status).toBe(401);
  expect(await emailOf(person)).toBeNull();
});

test("a link that verifies an address is no longer valid after 24 hours", async () => {
  const person = await addMember("late@example.com");
  await askForLink(person);
  const token = await readToken("late@example.com");
  await world.db.execute("update accounts.verification set expires_at = now() - interval '1 second'");
  expect((await verify(person, token)).status).toBe(401);
});

test("a verified address changes only when the person opens the link that was sent to the new address", async () => {
  const person = await addMember("before@example.com");
  await askForLink(person);
  await verify(person, await readToken("before@example.com"));
  expect((await askForLink(person, "After@Example.com")).status).toBe(200);
  const token = await readToken("after@example.com");
  expect(await emailOf(person)).toBe("before@example.com");
  expect((await verify(person, token)).status).toBe(200);
  expect(await emailOf(person)).toBe("after@example.com");
  expect((await signIn("after@example.com", PASSWORD)).status).toBe(200);
});

test("nobody can take an address that another account has, or find out that an account has it", async () => {
  await addMember("taken@example.com");
  const person = await addMember("taker@example.com");
  const [taken, free] = [await askForLink(person, "taken@example.com"), await askForLink(person, "free@example.com")];
  expect([taken.status, taken.body]).toEqual([free.status, free.body]);
  const token = await readToken("free@example.com");
  expect(mailsTo("taken@example.com").some(({ text }) => text!.includes("#email="))).toBe(false);
  const rival = await addMember("rival@example.com");
  await rival.send("POST", "/api/auth/change-email", { newEmail: "free@example.com" });
  expect((await verify(person, token)).status).toBe(409);
});

test("an e-mail address gets a limited number of mails in a minute, no matter how many accounts ask for a link", async () => {
  const statuses: number[] = [];
  for (const name of ["one", "two", "three"]) {
    const person = await addMember(`${name}@many.example`);
    for (let count = 0; count < 9; count++) statuses.push((await askForLink(person, "flooded@example.com")).status);
  }
  expect(statuses).toEqual([...Array(20).fill(200), ...Array(7).fill(429)]);
  world.elapse(60_000);
  expect((await askForLink(await addMember("four@many.example"), "flooded@example.com")).status).toBe(200);
});

test("an account whose person has not given an address gets no link", async () => {
  expect((await askForLink(owner)).status).toBe(400);
  expect((await askForLink(openBrowser())).status).toBe(401);
});

test("invites to one address count toward the limit of mails to it, also from several organizations", async () => {
  world.elapse(60_000);
  const hostile = [await addMember("one@example.com"), await addMember("two@example.com")];
  const statuses: number[] = [];
  for (const browser of hostile) {
    await browser.send("POST", "/organizations", { name: "Advertising" });
    for (let count = 0; count < 11; count++) {
      const { status, body } = await browser.send("POST", "/organizations/me/invites", { invited_email: "Flooded@example.com" });
      statuses.push(status);
      if (status === 200) await browser.send("DELETE", `/organizations/me/invites/${body.id}`);
    }
  }
  expect(statuses).toEqual([...Array(20).fill(200), 429, 429]);
  const other = await hostile[0]!.send("POST", "/organizations/me/invites", { invited_email: "calm@example.com" });
  expect([other.status, other.headers.get("ratelimit")]).toEqual([200, expect.not.stringContaining("auth_failures")]);
});

test("an organization sends 200 invites a day by mail, refused ones not counted, and more get 429 until the next day", async () => {
  const hostile = await addMember("three@example.com");
  await hostile.send("POST", "/organizations", { name: "Many letters" });
  const invite = (name: number) => hostile.send("POST", "/organizations/me/invites", { invited_email: `${name}@many.example` });
  const statuses: number[] = [];
  expect([(await invite(0)).status, (await invite(0)).status]).toEqual([200, 409]);
  for (let name = 1; name < 200; name++) statuses.push((await invite(name)).status);
  expect(new Set(statuses)).toEqual(new Set([200]));
  const refused = await invite(200);
  expect([refused.status, refused.body.detail]).toEqual([
    429,
    "This organization has sent 200 invites today, which is the limit. Try again tomorrow.",
  ]);
  world.elapse(Number(refused.headers.get("retry-after")) * 1000);
  expect((await invite(201)).status).toBe(200);
});
