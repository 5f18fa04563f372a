/**
 * Runs the attacks of RFC 9700, section 4, on the authorization server. Attacks on the sign-in of people are in sign-in.test.ts.
 */
import { UnauthorizedError } from "@modelcontextprotocol/client";
import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { agree, connect, documentsOf, openConsent, type Program, startProgram } from "./program.ts";
import { type Browser, setupAccounts } from "./support.ts";

const ORIGIN = "https://board.example";
const EVIL = "https://evil.example/callback";
const { world, openOwner, openBrowser, openMachine, joinBy, invite } = await setupAccounts({
  environment: { BASE_URL: ORIGIN },
  web: documentsOf({
    "https://liar.example/oauth.json": {
      client_id: "https://honest.example/oauth.json",
      client_name: "Liar",
      redirect_uris: ["https://liar.example/callback"],
    },
    "https://nameless.example/oauth.json": {
      client_id: "https://nameless.example/oauth.json",
      redirect_uris: ["https://nameless.example/callback"],
    },
    "https://large.example/oauth.json": {
      client_id: "https://large.example/oauth.json",
      client_name: "x".repeat(10_000),
      redirect_uris: ["https://large.example/callback"],
    },
  }),
});
const owner = await openOwner();
/** Returns a browser with the same session at another IP address, because requests from one address are limited. */
const elsewhere = ({ cookie }: Browser): Browser => Object.assign(openBrowser(), { cookie });
const start = () => startProgram({ request: openMachine(), origin: ORIGIN });

/** Starts a program that has opened the consent page. */
async function begin(): Promise<Program> {
  const program = start();
  await expect(program.connect()).rejects.toThrow(UnauthorizedError);
  return program;
}
const withParameters = (program: Program, changes: Record<string, string | null>): URL => {
  const url = new URL(program.authorization!);
  for (const [name, value] of Object.entries(changes))
    if (value === null) url.searchParams.delete(name);
    else url.searchParams.set(name, value);
  return url;
};
/** Opens the address in a person's browser, and returns the address to which the browser is sent. */
const open = async (browser: Browser, url: URL): Promise<URL> => {
  const { status, headers } = await elsewhere(browser).send("GET", `${url.pathname}${url.search}`);
  expect(status).toBe(302);
  return new URL(headers.get("location")!, ORIGIN);
};
const post = async (path: string, fields: Record<string, string>, headers: Record<string, string> = {}) => {
  const answer = await openMachine()(`${ORIGIN}/api/auth${path}`, {
    method: "POST",
    headers,
    body: new URLSearchParams(fields),
  });
  return { status: answer.status, body: (await answer.json().catch(() => null)) as any };
};
/** Checks whether a request gets an error, in the answer or on a page of the service. */
const refuse = async ({ pathname, search }: URL): Promise<boolean> => {
  const { status, headers } = await elsewhere(owner).send("GET", `${pathname}${search}`);
  return status === 400 || (status === 302 && new URL(headers.get("location")!, ORIGIN).href.startsWith(`${ORIGIN}/?error=`));
};
const register = async (metadata: object) => {
  const answer = await openMachine()(`${ORIGIN}/api/auth/oauth2/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ client_name: "x", token_endpoint_auth_method: "none", ...metadata }),
  });
  return { status: answer.status, body: (await answer.json()) as any };
};
const registerDevice = async (): Promise<string> =>
  (await register({ grant_types: ["urn:ietf:params:oauth:grant-type:device_code"], response_types: [] })).body.client_id;
const codeOf = (answer: string): string => new URL(answer).searchParams.get("code")!;
const exchange = (program: Program, answer: string, changes: Record<string, string> = {}) =>
  post("/oauth2/token", {
    grant_type: "authorization_code",
    client_id: program.client_id,
    code: codeOf(answer),
    code_verifier: program.verifier,
    redirect_uri: "http://127.0.0.1:7777/callback",
    ...changes,
  });
const callMcp = (token: string) =>
  openMachine()(`${ORIGIN}/mcp`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
  });

/** Adds keys to the owner's organization up to this number, by SQL, because the API would take long. */
async function addKeys(total: number) {
  const { organization_id } = (await owner.send("GET", "/organizations/me/member")).body;
  const added = sql`select id from users where name = 'Filling'`;
  await world.db.execute(sql`insert into users (id, auth_issuer, auth_subject, name, service_organization_id)
    select gen_random_uuid(), 'key', gen_random_uuid(), 'Filling', ${organization_id}::uuid
    from generate_series(1, ${total} - (select count(*) from api_keys where organization_id = ${organization_id})::int)`);
  await world.db.execute(sql`insert into api_keys (id, organization_id, access, prefix)
    select id, ${organization_id}::uuid, 'read', 'bk_' from (${added}) as added`);
  return { remove: () => world.db.execute(sql`delete from api_keys where id in (${added})`) };
}

test("neither a code nor the browser is sent to an address that the client has not registered", async () => {
  const program = await begin();
  for (const redirect_uri of [
    EVIL,
    "http://127.0.0.1.evil.example:7777/callback",
    "http://127.0.0.1:7777/callback/../evil",
    "http://127.0.0.1:7777/callback?next=https://evil.example",
    "http://127.0.0.1@evil.example/callback",
    "https://127.0.0.1:7777/callback",
    "javascript:alert(1)",
    "//evil.example",
  ]) {
    const location = await open(owner, withParameters(program, { redirect_uri }));
    expect([redirect_uri, location.origin, location.searchParams.has("code")]).toEqual([redirect_uri, ORIGIN, false]);
  }
});

test("a request with an unknown client or without a redirect never leads to another site", async () => {
  const program = await begin();
  for (const changes of [{ client_id: "unknown" }, { redirect_uri: null }, { client_id: null }])
    expect((await open(owner, withParameters(program, changes))).origin).toBe(ORIGIN);
});

test("a request without PKCE, or with a plain challenge, is refused", async () => {
  const program = await begin();
  for (const changes of [
    { code_challenge: null, code_challenge_method: null },
    { code_challenge_method: "plain" },
    { code_challenge_method: null },
  ]) {
    const location = await open(owner, withParameters(program, changes));
    expect([location.searchParams.get("error"), location.searchParams.has("code")]).toEqual(["invalid_request", false]);
  }
});

test("a code is refused without its verifier, with a wrong verifier, from another client and with another redirect address", async () => {
  const program = await begin();
  const other = await begin();
  for (const changes of [
    { code_verifier: "" },
    { code_verifier: "x".repeat(43) },
    { client_id: other.client_id, code_verifier: other.verifier },
    { redirect_uri: EVIL },
  ]) {
    const answer = await agree(owner, program.authorization!);
    const { status, body } = await exchange(program, answer, changes);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(status).toBeLessThan(500);
    expect(body).not.toHaveProperty("access_token");
  }
});

test("a code works once, and a second use ends the tokens of the first", async () => {
  const program = await begin();
  const answer = await agree(owner, program.authorization!);
  const { body } = await exchange(program, answer);
  expect((await callMcp(body.access_token)).status).toBe(200);
  expect((await exchange(program, answer)).body.error).toBe("invalid_grant");
  expect((await callMcp(body.access_token)).status).toBe(401);
  const refreshed = await post("/oauth2/token", {
    grant_type: "refresh_token",
    client_id: program.client_id,
    refresh_token: body.refresh_token,
  });
  expect(refreshed.body.error).toBe("invalid_grant");
});

test("of several exchanges of one code at the same time, at most one gets tokens", async () => {
  const program = await begin();
  const answer = await agree(owner, program.authorization!);
  const answers = await Promise.all(Array.from({ length: 4 }, () => exchange(program, answer)));
  expect(answers.filter(({ body }) => "access_token" in body).length).toBeLessThanOrEqual(1);
  expect(answers.every(({ status }) => status < 500)).toBe(true);
});

test("of several requests for the tokens of a device at the same time, one gets tokens", async () => {
  const client_id = await registerDevice();
  const { body: code } = await post("/device/code", { client_id, scope: "read", resource: `${ORIGIN}/mcp` });
  await owner.send("GET", `/api/auth/device?user_code=${code.user_code}`);
  await owner.send("POST", "/api/auth/device/approve", { userCode: code.user_code });
  const grant_type = "urn:ietf:params:oauth:grant-type:device_code";
  const poll = () => post("/oauth2/token", { grant_type, client_id, device_code: code.device_code });
  const answers = await Promise.all(Array.from({ length: 4 }, poll));
  expect(answers.filter(({ body }) => "access_token" in body)).toHaveLength(1);
  expect(answers.every(({ status }) => status < 500)).toBe(true);
});

test("a refresh token that was replaced ends the whole connection when it is used again", async () => {
  const program = start();
  await connect(program, owner);
  const first = program.tokens!.refresh_token!;
  const refresh = (refresh_token: string) =>
    post("/oauth2/token", { grant_type: "refresh_token", client_id: program.client_id, refresh_token });
  const second = (await refresh(first)).body;
  // A client that lost the answer may repeat the request for 30 seconds. This update ends that time.
  await world.db.execute("update accounts.oauth_refresh_token set rotation_replay_expires_at = now() - interval '1 second'");
  expect((await refresh(first)).body.error).toBe("invalid_grant");
  expect((await refresh(second.refresh_token)).body.error).toBe("invalid_grant");
  expect((await callMcp(second.access_token)).status).toBe(401);
});

test("a refresh token of one client is refused when another client sends it", async () => {
  const program = start();
  await connect(program, owner);
  const other = await begin();
  const refreshed = await post("/oauth2/token", {
    grant_type: "refresh_token",
    client_id: other.client_id,
    refresh_token: program.tokens!.refresh_token!,
  });
  expect(refreshed.body.error).toBe("invalid_grant");
});

test("the answer names its issuer, and the official client refuses an answer that names another issuer (mix-up)", async () => {
  const program = await begin();
  const answer = new URL(await agree(owner, program.authorization!));
  expect(answer.searchParams.get("iss")).toBe(`${ORIGIN}/api/auth`);
  expect(answer.searchParams.get("state")).toBe("the-state");
  for (const iss of ["https://evil.example", null]) {
    const forged = new URL(answer);
    if (iss === null) forged.searchParams.delete("iss");
    else forged.searchParams.set("iss", iss);
    await expect(program.finish(forged.href)).rejects.toThrow(/iss/i);
  }
});

test("no step of the authorization issues a token for another resource", async () => {
  const program = await begin();
  const resource = "https://other.example/mcp";
  const location = await open(owner, withParameters(program, { resource }));
  expect(location.searchParams.get("error")).toBe("invalid_target");
  const answer = await agree(owner, program.authorization!);
  expect((await exchange(program, answer, { resource })).body.error).toBe("invalid_target");
  const device = await post("/device/code", { client_id: await registerDevice(), scope: "read", resource });
  expect(device.body.error).toBe("invalid_target");
});

test("a token for another resource is refused, and a token for the MCP endpoint is refused everywhere else (confused deputy)", async () => {
  const program = start();
  await connect(program, owner);
  const { access_token } = program.tokens!;
  for (const [method, path] of [
    ["GET", "/api/v1/users/me"],
    ["GET", "/api/v1/boards"],
    ["POST", "/api/v1/users/me/keys"],
    ["GET", "/api/v1/boards/00000000-0000-4000-8000-000000000000/tasks/stream"],
  ] as const)
    expect([path, (await world.call(method, path, { token: access_token })).status]).toEqual([path, 401]);
  expect((await callMcp(access_token)).status).toBe(200);
  await world.db.execute("update accounts.oauth_access_token set resources = array['https://other.example/mcp']");
  expect((await callMcp(access_token)).status).toBe(401);
});

test("neither a program nor a page of another site can agree on behalf of a person", async () => {
  const program = await begin();
  const oauth_query = await openConsent(owner, program.authorization!);
  const body = { accept: true, oauth_query };
  const consent = "/api/auth/oauth2/consent";
  expect((await world.call("POST", consent, { body })).status).toBe(401);
  expect((await owner.send("POST", consent, body, { origin: "https://evil.example" })).status).toBe(403);
  expect((await owner.send("POST", consent, body, { origin: "" })).status).toBe(403);
  expect((await owner.send("POST", consent, body)).status).toBe(200);
});

test("an authorization request that was changed on its way to the consent page is refused", async () => {
  const program = await begin();
  const oauth_query = await openConsent(owner, program.authorization!);
  for (const [name, value] of [
    ["redirect_uri", EVIL],
    ["scope", "read write offline_access admin"],
    ["client_id", "another"],
    ["code_challenge", "x".repeat(43)],
    ["sig", ""],
  ] as const) {
    const changed = new URLSearchParams(oauth_query);
    changed.set(name, value);
    const answer = await owner.send("POST", "/api/auth/oauth2/consent", { accept: true, oauth_query: changed.toString() });
    expect([name, answer.status]).toEqual([name, 400]);
  }
  const more = await owner.send("POST", "/api/auth/oauth2/consent", { accept: true, oauth_query, scope: "read admin" });
  expect(more.status).toBe(400);
});

test("a person can give a program access only to boards of the active organization", async () => {
  const { browser: stranger } = await joinBy(await invite(owner, "stranger@example.com"), "Stranger");
  await stranger.send("POST", "/organizations", { name: "Elsewhere" });
  const foreign = await stranger.send("POST", "/api/v1/boards", { name: "Foreign", description: "x", gateway: "pull" });
  const program = await begin();
  const oauth_query = await openConsent(owner, program.authorization!);
  for (const board_ids of [[foreign.body.id], [], ["no id"], "all", [crypto.randomUUID()]]) {
    const { status } = await owner.send("POST", "/api/auth/oauth2/consent", { accept: true, oauth_query, board_ids });
    expect(status).toBeGreaterThanOrEqual(400);
    expect(status).toBeLessThan(500);
  }
});

test("only the person who opened a device's code can approve it, and a code for a program does not sign anybody in", async () => {
  const { browser: ann } = await joinBy(await invite(owner, "ann@example.com"), "Ann");
  const client_id = await registerDevice();
  const { body } = await post("/device/code", { client_id, scope: "read", resource: `${ORIGIN}/mcp` });
  expect((await owner.send("POST", "/api/auth/device/approve", { userCode: body.user_code })).status).toBe(400);
  await ann.send("GET", `/api/auth/device?user_code=${body.user_code}`);
  expect((await owner.send("POST", "/api/auth/device/approve", { userCode: body.user_code })).status).toBe(403);
  const approve = { userCode: body.user_code };
  expect((await ann.send("POST", "/api/auth/device/approve", approve, { origin: "https://evil.example" })).status).toBe(403);
  expect((await ann.send("POST", "/api/auth/device/approve", approve)).status).toBe(200);
  const grant_type = "urn:ietf:params:oauth:grant-type:device_code";
  const asSession = await openMachine()(`${ORIGIN}/api/auth/device/token`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ grant_type, client_id, device_code: body.device_code }),
  });
  expect(asSession.status).toBe(400);
});

test("a device's code can be approved again after the organization's limit of keys refused it, and the device keeps waiting", async () => {
  const client_id = await registerDevice();
  const { body: code } = await post("/device/code", { client_id, scope: "read", resource: `${ORIGIN}/mcp` });
  const poll = () =>
    post("/oauth2/token", {
      grant_type: "urn:ietf:params:oauth:grant-type:device_code",
      client_id,
      device_code: code.device_code,
      resource: `${ORIGIN}/mcp`,
    });
  await owner.send("GET", `/api/auth/device?user_code=${code.user_code}`);
  const fill = await addKeys(1_000);
  const approve = () => owner.send("POST", "/api/auth/device/approve", { userCode: code.user_code });
  const refused = await approve();
  expect(refused.status).toBe(409);
  expect(refused.body.message).toMatch(/1000 keys, which is the limit. Revoke keys that are not used./);
  expect((await poll()).body.error).toBe("authorization_pending");
  const program = await begin();
  const oauth_query = await openConsent(owner, program.authorization!);
  const consent = () => owner.send("POST", "/api/auth/oauth2/consent", { accept: true, oauth_query });
  expect(await consent()).toMatchObject({ status: 409, body: { message: refused.body.message } });
  await fill.remove();
  expect((await approve()).status).toBe(200);
  expect((await consent()).status).toBe(200);
  await world.db.execute("update accounts.device_code set last_polled_at = null");
  expect((await poll()).body).toHaveProperty("access_token");
});

test("hostile registrations and documents are refused", async () => {
  for (const metadata of [
    { redirect_uris: ["javascript:alert(1)"] },
    { redirect_uris: ["data:text/html,x"] },
    { redirect_uris: ["http://evil.example/callback"] },
    { redirect_uris: [] },
    { redirect_uris: "https://client.example" },
    { redirect_uris: ["https://client.example/callback"], skip_consent: true },
    { redirect_uris: ["https://client.example/callback"], scope: "admin" },
    { redirect_uris: ["https://client.example/callback"], grant_types: ["client_credentials"] },
  ])
    expect([metadata, (await register(metadata)).status]).toEqual([metadata, 400]);
  const program = await begin();
  for (const client_id of [
    "https://liar.example/oauth.json",
    "https://nameless.example/oauth.json",
    "https://large.example/oauth.json",
    "https://missing.example/oauth.json",
    "https://127.0.0.1/oauth.json",
    "https://169.254.169.254/latest/meta-data",
    "https://localhost/oauth.json",
    "https://user:password@client.example/oauth.json",
    "http://client.example/oauth.json",
  ])
    expect([client_id, await refuse(withParameters(program, { client_id }))]).toEqual([client_id, true]);
});

test("a forged Host header changes neither the metadata nor where people are sent", async () => {
  const headers = { host: "evil.example", "x-forwarded-host": "evil.example" };
  for (const path of ["/.well-known/oauth-authorization-server/api/auth", "/.well-known/oauth-protected-resource/mcp"]) {
    const answer = await world.app.request(`http://evil.example${path}`, { headers });
    const text = await answer.text();
    expect([path, answer.status]).toEqual([path, 200]);
    expect(text).toContain(ORIGIN);
    expect(text).not.toContain("evil");
  }
  const program = await begin();
  const { pathname, search } = program.authorization!;
  const answer = await elsewhere(owner).send("GET", `${pathname}${search}`, undefined, headers);
  expect(answer.headers.get("location")).toMatch(/^\/#connect\?/);
});

test("endpoints of the OAuth provider that the service does not need are not served, not even to the owner", async () => {
  for (const [method, path] of [
    ["POST", "/oauth2/create-client"],
    ["GET", "/oauth2/get-clients"],
    ["POST", "/admin/oauth2/create-client"],
    ["GET", "/admin/oauth2/resources"],
    ["POST", "/oauth2/introspect"],
    ["GET", "/oauth2/userinfo"],
    ["POST", "/oauth2/update-consent"],
    ["GET", "/oauth2/end-session"],
  ] as const)
    expect([path, (await owner.send(method, `/api/auth${path}`, method === "GET" ? undefined : {})).status]).toEqual([path, 404]);
});

test("the endpoints for programs ignore the session of a browser", async () => {
  const answer = await openMachine()(`${ORIGIN}/api/auth/oauth2/register`, {
    method: "POST",
    headers: { "content-type": "application/json", cookie: owner.cookie, origin: "https://evil.example" },
    body: JSON.stringify({
      client_name: "Of nobody",
      redirect_uris: ["https://client.example/callback"],
      token_endpoint_auth_method: "none",
    }),
  });
  expect(await answer.json()).not.toHaveProperty("user_id");
});
