import { rowsOf } from "@board/core/db/database";
import { LOCAL_IDENTITY } from "@board/core/organization/identity";
import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { OWNER_TOKEN, PASSWORD, setupAccounts } from "./support.ts";

/** The clock is stopped, so that all attempts of a test are made in one minute. */
const started = new Date();
const { world, accounts, openBrowser, openOwner, signInByLink, invite, joinBy, signIn } = await setupAccounts({
  clock: () => started,
  environment: { AUTH_FAILURES_PER_MINUTE: "20", BASE_URL: "http://board.test" },
});

test("the link of the first visit signs in as the owner, who is the shared user of local mode, and works once", async () => {
  const link = await accounts.createOwnerLink();
  const { browser, answer } = await signInByLink(link);
  expect(answer.status).toBe(200);
  const me = await browser.send("GET", "/api/v1/users/me");
  expect(me.body).toMatchObject({ clerk_user_id: LOCAL_IDENTITY.subject, name: "Owner", email: null });
  expect((await browser.send("GET", "/organizations/me/member")).body.role).toBe("owner");
  expect((await signInByLink(link)).answer.status).toBe(401);
});

test("of several requests with one sign-in link at the same time, one signs in", async () => {
  const link = await accounts.createOwnerLink();
  const answers = await Promise.all(Array.from({ length: 4 }, () => signInByLink(link)));
  expect(answers.map(({ answer }) => answer.status).toSorted((one, other) => one - other)).toEqual([200, 401, 401, 401]);
});

test("a sign-in link is no longer valid after 24 hours", async () => {
  const link = await accounts.createOwnerLink();
  await world.db.execute("update accounts.verification set expires_at = now() - interval '1 second'");
  expect((await signInByLink(link)).answer.status).toBe(401);
});

test("the token in the data folder authenticates programs as the owner", async () => {
  const owner = await openOwner();
  const mine = (await owner.send("GET", "/api/v1/users/me")).body;
  expect((await world.call("GET", "/api/v1/users/me", { token: OWNER_TOKEN })).body).toEqual(mine);
  expect((await world.call("GET", "/api/v1/users/me", { token: "x".repeat(60) })).status).toBe(401);
});

test("an invite's link works once: it creates an account, signs the new member in, and the password signs in again later", async () => {
  const owner = await openOwner();
  const token = await invite(owner, "ann@example.com");
  const { browser, answer } = await joinBy(token, "Ann");
  expect(answer).toMatchObject({ status: 200, body: { user: { name: "Ann" } } });
  expect((await browser.send("GET", "/organizations/me/member")).body).toMatchObject({ role: "member", all_boards_write: true });
  expect((await joinBy(token, "Eve")).answer.status).toBe(404);
  const again = openBrowser();
  expect((await signIn("ann@example.com", PASSWORD, again)).status).toBe(200);
  expect((await again.send("GET", "/api/v1/users/me")).body.name).toBe("Ann");
});

test("a person with an account joins by signing in and accepting the invite, and the address gets no second account", async () => {
  const owner = await openOwner();
  for (const name of ["bob", "carl"]) await joinBy(await invite(owner, `${name}@example.com`), name);
  const [bob, carl] = [openBrowser(), openBrowser()];
  await signIn("bob@example.com", PASSWORD, bob);
  await bob.send("POST", "/organizations", { name: "Bob's" });
  const inviteToBobs = async (invited_email: string): Promise<string> =>
    (await bob.send("POST", "/organizations/me/invites", { invited_email })).body.token;
  const accept = "/organizations/invites/accept";
  expect((await owner.send("POST", accept, { token: await inviteToBobs("owner@example.com") })).status).toBe(200);
  const token = await inviteToBobs("carl@example.com");
  expect((await joinBy(token, "Carl 2")).answer).toMatchObject({ status: 409, body: { code: "SIGN_IN_FIRST" } });
  await signIn("carl@example.com", PASSWORD, carl);
  expect((await carl.send("POST", accept, { token })).status).toBe(200);
  const joined = (await carl.send("GET", "/api/v1/organizations/me/list")).body;
  expect(joined).toContainEqual(expect.objectContaining({ name: "Bob's", role: "member" }));
  expect((await joinBy(await inviteToBobs("bob+2@example.com"), "Bob 2")).answer.status).toBe(200);
  for (const name of ["bob", "carl"]) {
    const found = await world.db.execute(sql`select name from accounts.user where lower(email) = ${`${name}@example.com`}`);
    expect(rowsOf(found)).toEqual([{ name }]);
  }
});

test("a sign-up that failed because of the database can be repeated with the same invite after a minute", async () => {
  const token = await invite(await openOwner(), "cut@example.com");
  await world.db.execute("alter table accounts.account rename to away");
  expect((await joinBy(token, "Cut")).answer.status).toBe(500);
  await world.db.execute("alter table accounts.away rename to account");
  expect((await joinBy(token, "Cut")).answer).toMatchObject({ status: 409, body: { code: "SIGN_IN_FIRST" } });
  await world.db.execute("update accounts.user set created_at = now() - interval '2 minutes' where email = 'cut@example.com'");
  expect((await joinBy(token, "Cut")).answer.status).toBe(200);
  expect((await signIn("cut@example.com", PASSWORD)).status).toBe(200);
});

test("an old account without a password stays as long as its person is a member somewhere", async () => {
  const owner = await openOwner();
  const token = await invite(owner, "bare@example.com");
  await openBrowser().send("POST", "/api/auth/sign-up/invite", { token, name: "Bare" });
  await world.db.execute("delete from accounts.session where user_id = (select id from accounts.user where name = 'Bare')");
  await world.db.execute("update accounts.user set created_at = now() - interval '1 day' where name = 'Bare'");
  await world.db.execute("update users set email = null where name = 'Bare'");
  const answer = (await joinBy(await invite(owner, "bare@example.com"), "Other")).answer;
  expect(answer).toMatchObject({ status: 409, body: { code: "SIGN_IN_FIRST" } });
});

test("of two sign-ups at once with the same invite, one gets the account and the other has to sign in", async () => {
  const token = await invite(await openOwner(), "twice@example.com");
  const answers = (await Promise.all([joinBy(token, "One"), joinBy(token, "Two")])).map(({ answer }) => answer);
  expect(answers.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([200, 409]);
  expect((await signIn("twice@example.com", PASSWORD)).status).toBe(200);
});

test("nobody signs up without an invite", async () => {
  const body = { email: "eve@example.com", password: PASSWORD, name: "Eve" };
  expect((await openBrowser().send("POST", "/api/auth/sign-up/email", body)).status).toBe(400);
  expect((await joinBy("x".repeat(32), "Eve")).answer.status).toBe(404);
});

test("short and very common passwords are refused wherever a password can be set", async () => {
  const owner = await openOwner();
  const token = await invite(owner, "weak@example.com");
  for (const password of ["short", "password1234", "123456789012", "aaaaaaaaaaaaaa", "qwertyuiop12"]) {
    const body = { token, name: "Weak", password };
    expect([password, (await openBrowser().send("POST", "/api/auth/sign-up/invite", body)).status]).toEqual([password, 400]);
    expect((await owner.send("POST", "/api/auth/add-password", { newPassword: password })).status).toBe(400);
  }
});

test("an unknown address and a wrong password get the same answer", async () => {
  const owner = await openOwner();
  await joinBy(await invite(owner, "known@example.com"), "Known");
  const wrong = await signIn("known@example.com", "not the right one", openBrowser("10.0.0.2"));
  const unknown = await signIn("nobody@example.com", "not the right one", openBrowser("10.0.0.3"));
  expect([wrong.status, wrong.body]).toEqual([unknown.status, unknown.body]);
  expect(wrong.status).toBe(401);
});

test("a wrong password is answered after at least 250 ms, whether or not the account exists", async () => {
  for (const email of ["known@example.com", "nobody@example.com"]) {
    const sent = performance.now();
    expect((await signIn(email, "not the right one", openBrowser())).status).toBe(401);
    expect(performance.now() - sent).toBeGreaterThan(245);
  }
});

test("the owner sets an address and a password, and signs in from elsewhere", async () => {
  const owner = await openOwner();
  expect((await owner.send("POST", "/api/auth/update-user", { name: "Olga" })).status).toBe(200);
  expect((await owner.send("POST", "/api/auth/change-email", { newEmail: "olga@example.com" })).status).toBe(200);
  expect((await owner.send("POST", "/api/auth/add-password", { newPassword: PASSWORD })).status).toBe(200);
  expect((await owner.send("POST", "/api/auth/add-password", { newPassword: `${PASSWORD} 2` })).status).toBe(409);
  const elsewhere = openBrowser();
  expect((await signIn("olga@example.com", PASSWORD, elsewhere)).status).toBe(200);
  expect((await elsewhere.send("GET", "/api/v1/users/me")).body.clerk_user_id).toBe(LOCAL_IDENTITY.subject);
});

test("a person sees the list of sessions and ends one, which is then refused at once", async () => {
  const owner = await openOwner();
  const other = await openOwner();
  const sessions = (await owner.send("GET", "/api/auth/list-sessions")).body;
  expect(sessions.length).toBeGreaterThan(1);
  expect((await owner.send("POST", "/api/auth/revoke-other-sessions", {})).status).toBe(200);
  expect((await other.send("GET", "/api/v1/users/me")).status).toBe(401);
  expect((await owner.send("POST", "/api/auth/sign-out", {})).status).toBe(200);
  expect((await owner.send("GET", "/api/v1/users/me")).status).toBe(401);
});

test("a write with the cookie of a session needs the origin of the service", async () => {
  const owner = await openOwner();
  const body = { name: "CSRF", access: "read" };
  for (const origin of ["https://evil.example", "null", "http://board.test.evil.example", ""]) {
    const answer = await owner.send("POST", "/api/v1/keys", body, { origin });
    expect([origin, answer.status]).toEqual([origin, 403]);
  }
  expect((await owner.send("POST", "/api/auth/sign-out", {}, { origin: "https://evil.example" })).status).toBe(403);
  expect((await owner.send("POST", "/api/v1/keys", body)).status).toBe(200);
});

test("a page of another site cannot sign its visitor in to another person's account", async () => {
  const link = await accounts.createOwnerLink();
  const victim = openBrowser();
  const answer = await victim.send("POST", "/api/auth/sign-in/link", { token: link }, { origin: "https://evil.example" });
  expect([answer.status, victim.cookie]).toEqual([403, ""]);
  expect((await signInByLink(link, victim)).answer.status).toBe(200);
});

test("a sign-in sets a new session cookie, even if one was set before", async () => {
  const browser = openBrowser();
  browser.cookie = "board.session_token=planted.by-somebody";
  const { answer } = await signInByLink(await accounts.createOwnerLink(), browser);
  expect(answer.status).toBe(200);
  expect(browser.cookie).not.toContain("planted");
  const planted = openBrowser();
  planted.cookie = "board.session_token=planted.by-somebody";
  expect((await planted.send("GET", "/api/v1/users/me")).status).toBe(401);
});

test("the links of better-auth lead to no other site", async () => {
  const answer = await openBrowser().send("POST", "/api/auth/sign-in/email", {
    email: "nobody@example.com",
    password: PASSWORD,
    callbackURL: "https://evil.example",
  });
  expect(answer.status).toBe(403);
});

test("a forged Host header changes neither links nor cookies", async () => {
  const owner = await openOwner();
  const answer = await owner.send("GET", "/api/auth/list-sessions", undefined, { host: "evil.example" });
  expect(JSON.stringify(answer.body)).not.toContain("evil");
});

test("guessing from one address is limited, without any effect on other addresses", async () => {
  const owner = await openOwner();
  await joinBy(await invite(owner, "target@example.com"), "Target");
  const guesser = openBrowser("10.9.9.9");
  const statuses = [];
  for (let count = 0; count < 12; count++)
    statuses.push((await signIn("target@example.com", `guess ${count} of many`, guesser)).status);
  expect(statuses.at(-1)).toBe(429);
  const refusal = await signIn("target@example.com", PASSWORD, guesser);
  expect(Number(refusal.headers.get("retry-after"))).toBeOneOf(Array.from({ length: 60 }, (_, index) => index + 1));
  expect((await signIn("target@example.com", PASSWORD)).status).toBe(200);
});

test("guessing the password of one account from many addresses is limited for a minute, whether or not the account exists", async () => {
  const owner = await openOwner();
  await joinBy(await invite(owner, "wanted@example.com"), "Wanted");
  for (const email of ["wanted@example.com", "absent@example.com"]) {
    const statuses = [];
    for (let count = 0; count < 21; count++) statuses.push((await signIn(email, `guess ${count} of many`)).status);
    expect([email, ...statuses]).toEqual([email, ...Array(20).fill(401), 429]);
  }
  world.elapse(60_000);
  expect((await signIn("wanted@example.com", PASSWORD)).status).toBe(200);
});

test("an owner can create a sign-in link for a member who is locked out, but not for people of other organizations or for owners", async () => {
  const owner = await openOwner();
  const { browser } = await joinBy(await invite(owner, "lost@example.com"), "Lost");
  const member_id = (await browser.send("GET", "/organizations/me/member")).body.id;
  const made = await owner.send("POST", "/api/auth/member-link", { member_id });
  expect(made.status).toBe(200);
  const again = await signInByLink(made.body.token);
  expect(again.answer.body.user.name).toBe("Lost");
  expect((await browser.send("POST", "/api/auth/member-link", { member_id })).status).toBe(403);
  const own = (await owner.send("GET", "/organizations/me/member")).body.id;
  expect((await owner.send("POST", "/api/auth/member-link", { member_id: own })).status).toBe(403);
  expect((await owner.send("POST", "/api/auth/member-link", { member_id: crypto.randomUUID() })).status).toBe(404);
  await again.browser.send("POST", "/organizations", { name: "Elsewhere" });
  expect((await owner.send("POST", "/api/auth/member-link", { member_id })).status).toBe(403);
  const { items } = (await owner.send("GET", "/api/v1/audit?action=member.link_created")).body;
  expect(items[0].target.name).toBe("Lost");
});

test("a sign-in link for a member is no longer valid once its maker could not make it any more", async () => {
  const owner = await openOwner();
  const role = (member_id: string, role: string) => owner.send("PATCH", `/organizations/me/members/${member_id}`, { role });
  const join = async (name: string) => {
    const { browser } = await joinBy(await invite(owner, `${name}@example.com`), name);
    return { browser, id: (await browser.send("GET", "/organizations/me/member")).body.id as string };
  };
  const [maker, leaver] = [await join("maker"), await join("leaver")];
  await role(maker.id, "owner");
  const [promoted, moved, removed, kept] = [
    await join("promoted"),
    await join("moved"),
    await join("removed"),
    await join("kept"),
  ];
  const linkFor = async (member_id: string, by = maker.browser): Promise<string> =>
    (await by.send("POST", "/api/auth/member-link", { member_id })).body.token;
  const links = await Promise.all([promoted, moved, removed].map(({ id }) => linkFor(id)));
  await role(promoted.id, "owner");
  await moved.browser.send("POST", "/organizations", { name: "Elsewhere" });
  await owner.send("DELETE", `/organizations/me/members/${removed.id}`);
  for (const link of links) expect((await signInByLink(link)).answer.status).toBe(401);
  const [first, second] = [await linkFor(kept.id), await linkFor(kept.id)];
  expect((await signInByLink(first)).answer.body.user.name).toBe("kept");
  await role(maker.id, "admin");
  expect((await signInByLink(second)).answer.status).toBe(401);
  expect((await signInByLink(await linkFor(leaver.id, owner))).answer.body.user.name).toBe("leaver");
});

test("the operator can create a sign-in link by e-mail address for owners only, and the audit log records it", async () => {
  const owner = await openOwner();
  const { browser } = await joinBy(await invite(owner, "second@example.com"), "Second");
  expect(await accounts.createOwnerLinkFor("second@example.com")).toBeNull();
  expect(await accounts.createOwnerLinkFor("absent@example.com")).toBeNull();
  const member_id = (await browser.send("GET", "/organizations/me/member")).body.id;
  expect((await owner.send("PATCH", `/organizations/me/members/${member_id}`, { role: "owner" })).status).toBe(200);
  const link = await accounts.createOwnerLinkFor(" Second@Example.com ");
  expect((await signInByLink(link!)).answer.body.user.name).toBe("Second");
  const [entry] = (await owner.send("GET", "/api/v1/audit?action=member.link_created")).body.items;
  expect(entry).toMatchObject({ actor: { type: "system" }, target: { name: "Second" } });
});

test("a member's successful and failed sign-ins are in the organization's audit log", async () => {
  const owner = await openOwner();
  await joinBy(await invite(owner, "watched@example.com"), "Watched");
  await signIn("watched@example.com", PASSWORD, openBrowser("10.2.2.2"));
  await signIn("watched@example.com", "a wrong password", openBrowser("10.2.2.3"));
  const { items } = (await owner.send("GET", "/api/v1/audit?limit=200")).body;
  const ofWatched = items.filter(({ target }: { target: { name: string } }) => target.name === "Watched");
  expect(ofWatched.map(({ action }: { action: string }) => action)).toEqual(
    expect.arrayContaining(["sign_in.succeeded", "sign_in.failed"]),
  );
});
