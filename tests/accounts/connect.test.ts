import { oauthRefreshToken } from "@board/accounts/oauth-tables.sql";
import { type Client, UnauthorizedError } from "@modelcontextprotocol/client";
import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { agree, connect, connectByDevice, documentsOf, openConsent, startProgram } from "./program.ts";
import { type Browser, setupAccounts } from "./support.ts";

const ORIGIN = "https://board.example";
const DOCUMENT = "https://client.example/oauth.json";

const web = documentsOf({
  [DOCUMENT]: {
    client_id: DOCUMENT,
    client_name: "Documented program",
    redirect_uris: ["http://127.0.0.1/callback"],
    grant_types: ["authorization_code", "refresh_token"],
    token_endpoint_auth_method: "none",
  },
});
const { world, openOwner, openBrowser, openMachine, invite, joinBy } = await setupAccounts({
  environment: { BASE_URL: ORIGIN },
  web,
});
const start = (options: Partial<Parameters<typeof startProgram>[0]> = {}) =>
  startProgram({ request: openMachine(), origin: ORIGIN, ...options });

const createBoard = async (browser: Browser, name: string) =>
  (await browser.send("POST", "/api/v1/boards", { name, description: "A board", gateway: "pull" })).body;
const addTask = async (browser: Browser, board_id: string, title: string) =>
  (await browser.send("POST", `/api/v1/boards/${board_id}/tasks`, { title })).body;
const use = async (client: Client, name: string, input: object = {}) => {
  const { isError, structuredContent, content } = await client.callTool({ name, arguments: { ...input } });
  return { refused: isError === true, data: structuredContent as any, text: JSON.stringify(content) };
};
const keysOf = async (browser: Browser) => (await browser.send("GET", "/api/v1/users/me/keys")).body.items;
/** Lets all access tokens expire, as they do after an hour. */
const expireTokens = () => world.db.execute("update accounts.oauth_access_token set expires_at = now() - interval '1 second'");

test("the official client connects to a service that it has never seen, by registering itself", async () => {
  const owner = await openOwner();
  const board = await createBoard(owner, "Shop");
  const program = start();
  const client = await connect(program, owner);
  expect((await use(client, "get_board", { board_id: board.id })).data.board).toMatchObject({ id: board.id });
  expect(program.tokens).toMatchObject({ scope: "read write offline_access", token_type: "Bearer" });
  expect(program.tokens!.access_token).toMatch(/^bt_/);
  expect(program.tokens!.refresh_token).toMatch(/^br_/);
});

test("the official client connects without registering, by the address of its metadata document", async () => {
  const owner = await openOwner();
  const program = start({ clientMetadataUrl: DOCUMENT });
  await connect(program, owner);
  expect(program.client_id).toBe(DOCUMENT);
  const [key] = await keysOf(owner);
  expect(key).toMatchObject({ name: "Documented program", access: "write", board_ids: null, personal: true, prefix: "bt_" });
});

test("the official client connects by the code of a device, which a person types in a browser", async () => {
  const owner = await openOwner();
  const board = await createBoard(owner, "Device");
  const client = await connectByDevice({ request: openMachine(), origin: ORIGIN }, async ({ user_code, verification_uri }) => {
    expect(verification_uri).toBe(`${ORIGIN}/#device`);
    const shown = await owner.send("GET", `/api/auth/device?user_code=${user_code}`);
    expect(shown.body).toMatchObject({ status: "pending", scope: "read write offline_access" });
    const approved = await owner.send("POST", "/api/auth/device/approve", { userCode: user_code, board_ids: [board.id] });
    expect(approved.status).toBe(200);
  });
  expect((await use(client, "get_board")).data.boards).toHaveLength(1);
  const [key] = await keysOf(owner);
  expect(key).toMatchObject({ name: "Device program", board_ids: [board.id] });
});

test("a device that the person refuses gets no access, and a device that is limited to reading can only read", async () => {
  const owner = await openOwner();
  const board = await createBoard(owner, "Reading device");
  const refused = connectByDevice({ request: openMachine(), origin: ORIGIN }, async ({ user_code }) => {
    await owner.send("GET", `/api/auth/device?user_code=${user_code}`);
    await owner.send("POST", "/api/auth/device/deny", { userCode: user_code });
  });
  await expect(refused).rejects.toThrow(/denied|access_denied/i);
  const client = await connectByDevice({ request: openMachine(), origin: ORIGIN }, async ({ user_code }) => {
    await owner.send("GET", `/api/auth/device?user_code=${user_code}`);
    await owner.send("POST", "/api/auth/device/approve", { userCode: user_code, access: "read" });
  });
  expect((await use(client, "get_board", { board_id: board.id })).refused).toBe(false);
  expect((await use(client, "create_task", { board_id: board.id, title: "No" })).refused).toBe(true);
});

test("a program acts under its own name, and may do only what the person agreed to", async () => {
  const owner = await openOwner();
  const [shop, other] = [await createBoard(owner, "Agreed"), await createBoard(owner, "Not agreed")];
  const task = await addTask(owner, shop.id, "Count the lamps");
  const client = await connect(start(), owner, { board_ids: [shop.id] });
  expect((await use(client, "comment_on_task", { board_id: shop.id, task_id: task.id, content: "Seven" })).refused).toBe(false);
  expect((await use(client, "get_board", { board_id: other.id })).refused).toBe(true);
  const [comment] = (await owner.send("GET", `/api/v1/boards/${shop.id}/tasks/${task.id}/comments`)).body.items;
  const [key] = await keysOf(owner);
  expect([comment.user_id, key.name]).toEqual([key.id, "Test program"]);

  const reader = await connect(start(), owner, { scope: "read offline_access" });
  expect((await use(reader, "get_board", { board_id: other.id })).refused).toBe(false);
  expect((await use(reader, "create_task", { board_id: other.id, title: "No" })).refused).toBe(true);
});

test("a program never has more rights than the person who connected it, and loses access when the membership ends", async () => {
  const owner = await openOwner();
  const board = await createBoard(owner, "Of others");
  const ann = (await joinBy(await invite(owner, "ann@example.com"), "Ann")).browser;
  const { id } = (await ann.send("GET", "/organizations/me/member")).body;
  const path = `/organizations/me/members/${id}`;
  const client = await connect(start(), ann);
  expect((await use(client, "create_task", { board_id: board.id, title: "Yes" })).refused).toBe(false);
  await owner.send("PUT", `${path}/access`, { all_boards_read: false, all_boards_write: false, board_access: [] });
  expect((await use(client, "get_board", { board_id: board.id })).refused).toBe(true);
  await owner.send("DELETE", path);
  await expect(use(client, "get_board")).rejects.toThrow(UnauthorizedError);
});

test("a client refreshes its tokens by itself, and gets a new refresh token each time", async () => {
  const owner = await openOwner();
  const program = start();
  const client = await connect(program, owner);
  const first = program.tokens!;
  await expireTokens();
  expect((await use(client, "get_board")).refused).toBe(false);
  expect(program.tokens!.access_token).not.toBe(first.access_token);
  expect(program.tokens!.refresh_token).not.toBe(first.refresh_token);
});

test("a connection continues to work after the session in which it was made has ended", async () => {
  const owner = await openOwner();
  const program = start();
  const client = await connect(program, owner);
  await owner.send("POST", "/api/auth/sign-out", {});
  expect((await use(client, "get_board")).refused).toBe(false);
});

test("revoking the key of a connection ends the connection and its refresh token at once", async () => {
  const owner = await openOwner();
  const program = start();
  const client = await connect(program, owner);
  const [key] = await keysOf(owner);
  expect((await owner.send("DELETE", `/api/v1/users/me/keys/${key.id}`)).status).toBe(200);
  program.authorization = null;
  await expect(use(client, "get_board")).rejects.toThrow(UnauthorizedError);
  expect(program.authorization).not.toBeNull();
  expect(await world.db.$count(oauthRefreshToken, eq(oauthRefreshToken.referenceId, key.id))).toBe(0);
});

test("connecting is in the audit log, with the address of the person who agreed", async () => {
  const owner = await openOwner();
  await connect(start(), owner);
  const [entry] = (await owner.send("GET", "/api/v1/audit?action=key.created&limit=1")).body.items;
  expect(entry).toMatchObject({
    target: { name: "Test program" },
    actor: { name: "Owner" },
    address: expect.stringMatching(/^10\./),
  });
});

test("if a person declines, the program gets an error and no code", async () => {
  const owner = await openOwner();
  const program = start();
  await expect(program.connect()).rejects.toThrow(UnauthorizedError);
  const oauth_query = await openConsent(owner, program.authorization!);
  const { body } = await owner.send("POST", "/api/auth/oauth2/consent", { accept: false, oauth_query });
  const answer = new URL(body.url);
  expect(answer.searchParams.get("error")).toBe("access_denied");
  expect(answer.searchParams.has("code")).toBe(false);
});

test("a person who is not signed in is asked to sign in first, and can then agree to the same authorization request", async () => {
  const owner = await openOwner();
  const program = start();
  await expect(program.connect()).rejects.toThrow(UnauthorizedError);
  const oauth_query = await openConsent(openBrowser(), program.authorization!);
  const { body } = await owner.send("POST", "/api/auth/oauth2/consent", { accept: true, oauth_query });
  await program.finish(body.url);
  expect((await use(await program.connect(), "get_board")).refused).toBe(false);
});

test("each new connection asks the person for consent, even if the person agreed to an earlier connection of the same client", async () => {
  const owner = await openOwner();
  const program = start({ clientMetadataUrl: DOCUMENT });
  await connect(program, owner);
  const again = start({ clientMetadataUrl: DOCUMENT });
  await expect(again.connect()).rejects.toThrow(UnauthorizedError);
  expect(await openConsent(owner, again.authorization!)).toContain("client_id=");
  const silent = new URL(again.authorization!);
  silent.searchParams.set("prompt", "none");
  const { headers } = await owner.send("GET", `${silent.pathname}${silent.search}`);
  expect(new URL(headers.get("location")!).searchParams.get("error")).toBe("consent_required");
  expect(await agree(owner, again.authorization!)).toContain("code=");
});
