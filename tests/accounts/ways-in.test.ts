import { afterAll, expect, test, vi } from "vitest";
import { setup } from "../support/fixtures.ts";
import { startMailServer } from "../support/mail-server.ts";
import { openAuthenticator } from "./authenticator.ts";
import { openOtherServices, type OtherAccount } from "./other-services.ts";
import { type Browser, PASSWORD, setupAccounts } from "./support.ts";

const ORIGIN = "https://board.example";
const others = await openOtherServices();
vi.stubGlobal("fetch", others.fetch);
// The same test process runs other files afterwards, which need the real `fetch`.
afterAll(() => vi.unstubAllGlobals());
const mail = await setup(startMailServer());
const { world, openOwner, openBrowser, invite, joinBy, signIn } = await setupAccounts({
  environment: {
    BASE_URL: ORIGIN,
    GITHUB_CLIENT_ID: "github-client",
    GITHUB_CLIENT_SECRET: "github-secret",
    GOOGLE_CLIENT_ID: "google-client",
    GOOGLE_CLIENT_SECRET: "google-secret",
    ...mail.environment,
  },
});
const owner = await openOwner();
/** Adds a member with an account and a password, and returns the browser. */
const addMember = async (email: string) => (await joinBy(await invite(owner, email), email)).browser;
const whoIs = async (browser: Browser) => {
  const { status, body } = await browser.send("GET", "/api/v1/users/me");
  return status === 200 ? { id: body.id as string, email: body.email as string | null } : null;
};
const mailsTo = (email: string) => mail.mails.filter(({ recipients }) => recipients.includes(email));

test("an invite is sent by mail, and the link in it creates the account", async () => {
  await owner.send("PATCH", "/organizations/me", { name: "Lamps\nand more" });
  await owner.send("POST", "/organizations/me/invites", { invited_email: "Lea@Example.com" });
  await world.drain();
  const [sent] = mailsTo("lea@example.com");
  expect(sent!.subject).toMatch(/^Invitation to “Lamps.*” on Board$/);
  const [, token] = new RegExp(`^${ORIGIN}/#invite=(\\S+)$`, "m").exec(sent!.text!)!;
  expect((await joinBy(token!, "Lea")).answer.status).toBe(200);
  expect(mailsTo("lea@example.com")).toHaveLength(1);
});

test("an invite that is removed before its mail is sent causes no mail", async () => {
  const { body } = await owner.send("POST", "/organizations/me/invites", { invited_email: "gone@example.com" });
  await owner.send("DELETE", `/organizations/me/invites/${body.id}`);
  await world.drain();
  expect(mailsTo("gone@example.com")).toEqual([]);
});

test("behind https, browsers send the cookie of a session by https only", async () => {
  const { answer } = await joinBy(await invite(owner, "secure@example.com"), "Secure");
  const cookie = answer.headers.getSetCookie().find((line) => line.includes("session_token="))!;
  expect(cookie).toMatch(/^__Secure-board\.session_token=/);
  expect(cookie.split("; ")).toEqual(expect.arrayContaining(["Secure", "HttpOnly", "SameSite=Lax"]));
});

const addPasskey = async (browser: Browser, authenticator: ReturnType<typeof openAuthenticator>) => {
  const { body } = await browser.send("GET", "/api/auth/passkey/generate-register-options");
  return browser.send("POST", "/api/auth/passkey/verify-registration", { response: authenticator.create(body), name: "Laptop" });
};
const usePasskey = async (authenticator: ReturnType<typeof openAuthenticator>, browser = openBrowser()) => {
  const { body } = await browser.send("GET", "/api/auth/passkey/generate-authenticate-options");
  const response = authenticator.get(body);
  const answer = await browser.send("POST", "/api/auth/passkey/verify-authentication", { response });
  return { browser, answer, response };
};

test("a person adds a passkey and signs in with it, without a password, until it is removed", async () => {
  const person = await addMember("pia@example.com");
  const authenticator = openAuthenticator({ origin: ORIGIN });
  expect((await addPasskey(person, authenticator)).status).toBe(200);
  const { browser, answer } = await usePasskey(authenticator);
  expect(answer.status).toBe(200);
  expect(await whoIs(browser)).toEqual(await whoIs(person));
  const [passkey] = (await person.send("GET", "/api/auth/passkey/list-user-passkeys")).body;
  expect(passkey).toMatchObject({ name: "Laptop" });
  expect((await owner.send("POST", "/api/auth/passkey/delete-passkey", { id: passkey.id })).status).toBeGreaterThanOrEqual(400);
  expect((await person.send("POST", "/api/auth/passkey/delete-passkey", { id: passkey.id })).status).toBe(200);
  expect((await usePasskey(authenticator)).answer.status).toBe(401);
});

test("a person who signed in days ago can still see the sessions, and add and remove ways to sign in", async () => {
  const person = await addMember("old@example.com");
  await returnFrom(person, "/link-social", "github", { id: "72", email: "old@example.com", verified: true });
  await world.db.execute("update accounts.session set created_at = created_at - interval '3 days'");
  expect((await person.send("GET", "/api/auth/list-sessions")).body).toHaveLength(1);
  expect((await addPasskey(person, openAuthenticator({ origin: ORIGIN }))).status).toBe(200);
  const ways: { id: string; providerId: string }[] = (await person.send("GET", "/api/auth/list-accounts")).body;
  const accountId = ways.find(({ providerId }) => providerId === "github")!.id;
  expect((await person.send("POST", "/api/auth/unlink-account", { accountId })).status).toBe(200);
});

test("a passkey of another site, a malformed answer, a repeated answer and an answer to another challenge are refused", async () => {
  const person = await addMember("pat@example.com");
  const elsewhere = openAuthenticator({ origin: "https://evil.example", rp_id: "board.example" });
  expect((await addPasskey(person, elsewhere)).status).toBe(400);
  const authenticator = openAuthenticator({ origin: ORIGIN });
  for (const hostile of [null, {}, { id: 7, response: {} }, { ...authenticator.create({ challenge: "x" }), response: {} }]) {
    await person.send("GET", "/api/auth/passkey/generate-register-options");
    const { status } = await person.send("POST", "/api/auth/passkey/verify-registration", { response: hostile });
    expect([hostile, status]).toEqual([hostile, 400]);
  }
  await addPasskey(person, authenticator);
  const { browser, response } = await usePasskey(authenticator);
  await browser.send("POST", "/api/auth/sign-out", {});
  const again = openBrowser();
  const verify = "/api/auth/passkey/verify-authentication";
  expect((await again.send("POST", verify, { response })).status).toBe(400);
  await again.send("GET", "/api/auth/passkey/generate-authenticate-options");
  expect((await again.send("POST", verify, { response })).status).toBe(400);
  for (const hostile of [null, {}, { id: 7 }, { ...response, response: {} }, { ...response, id: "unknown" }]) {
    await again.send("GET", "/api/auth/passkey/generate-authenticate-options");
    const { status } = await again.send("POST", verify, { response: hostile });
    expect([hostile, status >= 400 && status < 500]).toEqual([hostile, true]);
  }
  expect(await whoIs(again)).toBeNull();
  const { items } = (await owner.send("GET", "/api/v1/audit?action=sign_in.failed")).body;
  expect(items[0]).toMatchObject({ target: { name: "pat@example.com" }, user_agent: null });
});

/** Signs in as a browser does: asks the service, agrees at the provider, and returns with the code. Returns the final address. */
async function returnFrom(browser: Browser, path: string, provider: string, account: OtherAccount, more: object = {}) {
  const { body } = await browser.send("POST", `/api/auth${path}`, { provider, callbackURL: "/", ...more });
  const asked = new URL(body.url);
  const query = new URLSearchParams({ code: others.codeOf(account), state: asked.searchParams.get("state")! });
  const { headers } = await browser.send("GET", `/api/auth/callback/${provider}?${query}`);
  return { asked, end: new URL(headers.get("location")!, ORIGIN) };
}

test.each([
  ["github", "github.com"],
  ["google", "accounts.google.com"],
])("a person adds an account at %s and signs in with it", async (provider, host) => {
  const email = `${provider}@example.com`;
  const person = await addMember(email);
  const account = { id: "71", email: `other-${email}`, verified: true };
  const { asked } = await returnFrom(person, "/link-social", provider, account);
  expect([asked.host, asked.searchParams.get("redirect_uri")]).toEqual([host, `${ORIGIN}/api/auth/callback/${provider}`]);
  expect(others.exchanges.at(-1)!.get("redirect_uri")).toBe(`${ORIGIN}/api/auth/callback/${provider}`);
  const browser = openBrowser();
  const { end } = await returnFrom(browser, "/sign-in/social", provider, account);
  expect(end.search).toBe("");
  expect(await whoIs(browser)).toEqual(await whoIs(person));
});

test.each(["github", "google"])("nobody can create an account by signing in with %s", async (provider) => {
  for (const more of [{}, { requestSignUp: true }]) {
    const stranger = openBrowser();
    const account = { id: "99", email: "stranger@example.com", verified: true };
    const { end } = await returnFrom(stranger, "/sign-in/social", provider, account, more);
    expect(end.searchParams.get("error")).toMatch(/signup_disabled/);
    expect(await whoIs(stranger)).toBeNull();
  }
  const token = await others.idToken({ id: "98", email: "other-stranger@example.com", verified: true });
  const stranger = openBrowser();
  const body = { provider, idToken: { token }, requestSignUp: true };
  expect((await stranger.send("POST", "/api/auth/sign-in/social", body)).status).toBeGreaterThanOrEqual(400);
  expect(await whoIs(stranger)).toBeNull();
});

test("an account at another provider with the same address signs nobody in while the address is not verified here", async () => {
  const mallory = await addMember("mallory@example.com");
  await mallory.send("POST", "/api/auth/change-email", { newEmail: "victim@example.com" });
  for (const verified of [true, false]) {
    const victim = openBrowser();
    const account = { id: "55", email: "victim@example.com", verified };
    const { end } = await returnFrom(victim, "/sign-in/social", "github", account);
    expect(end.searchParams.get("error")).toBe("account_not_linked");
    expect(await whoIs(victim)).toBeNull();
  }
});

test("a code without the state of this browser signs nobody in (login CSRF)", async () => {
  const attacker = openBrowser();
  const { body } = await attacker.send("POST", "/api/auth/sign-in/social", { provider: "github", callbackURL: "/" });
  const state = new URL(body.url).searchParams.get("state")!;
  const code = others.codeOf({ id: "71", email: "other-github@example.com", verified: true });
  const before = others.exchanges.length;
  for (const used of [state, "made-up", ""]) {
    const victim = openBrowser();
    await victim.send("GET", `/api/auth/callback/github?${new URLSearchParams({ code, state: used })}`);
    expect(await whoIs(victim)).toBeNull();
  }
  expect(others.exchanges).toHaveLength(before);
});

test("the redirect after a sign-in never leads to another site (open redirect)", async () => {
  for (const callbackURL of ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)"])
    for (const field of ["callbackURL", "errorCallbackURL", "newUserCallbackURL"]) {
      const body = { provider: "github", [field]: callbackURL };
      expect([field, callbackURL, (await openBrowser().send("POST", "/api/auth/sign-in/social", body)).status]).toEqual([
        field,
        callbackURL,
        403,
      ]);
    }
});

const askForLink = (email: string) => openBrowser().send("POST", "/api/auth/sign-in/magic-link", { email });
const linkTo = async (email: string) => {
  const before = mailsTo(email).length;
  await askForLink(email);
  await world.drain();
  expect(mailsTo(email)).toHaveLength(before + 1);
  return new URL(/https:\S+/.exec(mailsTo(email).at(-1)!.text!)![0]);
};
const VERIFY = "/api/auth/magic-link/verify";
/** Sends the request that the page behind the link sends when its button is pressed. */
async function follow(url: URL, browser = openBrowser()) {
  const { status, body } = await browser.send("POST", VERIFY, { token: tokenOf(url) });
  expect([200, 401]).toContain(status);
  expect(JSON.stringify(body)).not.toMatch(/session|token"/);
  return browser;
}
const tokenOf = (url: URL) => new URLSearchParams(url.hash.slice(1)).get("mail")!;

test("a link in a mail signs in once, and the address counts as verified from then on", async () => {
  const person = await addMember("mia@example.com");
  expect((await whoIs(person))!.email).toBeNull();
  const { id } = (await whoIs(person))!;
  const link = await linkTo("mia@example.com");
  expect(link.origin).toBe(ORIGIN);
  expect(await whoIs(await follow(link))).toEqual({ id, email: "mia@example.com" });
  expect(await whoIs(await follow(link))).toBeNull();
});

test("a program that follows the link of a mail does not use it up, and neither does a page of another site", async () => {
  const person = await addMember("scanned@example.com");
  const { id } = (await whoIs(person))!;
  const link = await linkTo("scanned@example.com");
  const scanner = openBrowser();
  const query = new URLSearchParams({ token: tokenOf(link) });
  for (const path of [link.pathname, `${VERIFY}?${query}`]) await scanner.send("GET", path);
  expect((await scanner.send("GET", `${VERIFY}?${query}`)).status).toBe(404);
  const elsewhere = { origin: "https://evil.example" };
  expect((await scanner.send("POST", VERIFY, { token: tokenOf(link) }, elsewhere)).status).toBe(403);
  for (const body of [{}, { token: 7 }, { token: "x".repeat(300) }])
    expect((await openBrowser().send("POST", VERIFY, body)).status).toBe(400);
  expect(await whoIs(scanner)).toBeNull();
  expect(await whoIs(await follow(link))).toMatchObject({ id });
});

test("the configuration of the console lists the ways to sign in other than a password", async () => {
  const read = async (from: Pick<Browser, "send">) => (await from.send("GET", "/console/config.json")).body;
  expect(await read(openBrowser())).toEqual({ auth: { mode: "accounts", ways: ["github", "google", "mail"] } });
});

test("a person who asks for a link does not learn whether the address has an account, and only an address with an account gets a mail", async () => {
  await addMember("nora@example.com");
  const sent = performance.now();
  const [known, unknown] = [await askForLink("nora@example.com"), await askForLink("nobody@example.com")];
  expect([unknown.status, unknown.body]).toEqual([known.status, known.body]);
  // Each is answered a quarter of a second or more after it was sent.
  expect(performance.now() - sent).toBeGreaterThan(490);
  await world.drain();
  expect(mailsTo("nora@example.com")).toHaveLength(1);
  await linkTo("nora@example.com");
  expect(mailsTo("nobody@example.com")).toEqual([]);
});

test("verifying an address removes every way to sign in that was added before the address was verified", async () => {
  const mallory = await addMember("eve@example.com");
  const authenticator = openAuthenticator({ origin: ORIGIN });
  await addPasskey(mallory, authenticator);
  await mallory.send("POST", "/api/auth/change-email", { newEmail: "bank@example.com" });
  const victim = await follow(await linkTo("bank@example.com"));
  expect(await whoIs(victim)).toMatchObject({ email: "bank@example.com" });
  expect(await whoIs(mallory)).toBeNull();
  expect((await signIn("bank@example.com", PASSWORD)).status).toBe(401);
  expect((await usePasskey(authenticator)).answer.status).toBe(401);
});

test("ended sessions and changes of an account are in the audit log, without their values", async () => {
  const person = await addMember("tess@example.com");
  const entries = async () =>
    (await owner.send("GET", "/api/v1/audit?limit=200")).body.items.filter(
      ({ action, target }: any) => target.name === "tess@example.com" && /^(sign_in|account)/.test(action),
    );
  const actions = async () => (await entries()).map(({ action, changes }: any) => [action, changes?.changed?.[1] ?? null]);
  await person.send("POST", "/api/auth/change-password", { currentPassword: PASSWORD, newPassword: "a blue boat on the lake" });
  await addPasskey(person, openAuthenticator({ origin: ORIGIN }));
  const refused = { currentPassword: "wrong password here", newPassword: "a red tower in the wood" };
  expect((await person.send("POST", "/api/auth/change-password", refused)).status).toBe(400);
  const other = openBrowser();
  await signIn("tess@example.com", "a blue boat on the lake", other);
  await person.send("POST", "/api/auth/revoke-other-sessions", {});
  await person.send("POST", "/api/auth/sign-out", {});
  expect((await actions()).reverse()).toEqual([
    ["sign_in.succeeded", null],
    ["account.changed", "password"],
    ["account.changed", "passkey added"],
    ["sign_in.succeeded", null],
    ["sign_in.ended", null],
    ["sign_in.ended", null],
  ]);
  expect(JSON.stringify(await entries())).not.toContain("blue boat");
  expect((await entries())[0].address).toMatch(/^10\./);
});
