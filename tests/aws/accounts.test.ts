import { openAccounts } from "@board/accounts/accounts";
import { parseSettings } from "@board/core/config/settings";
import { jobs } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import type { APIGatewayProxyStructuredResultV2 } from "aws-lambda";
import { expect, test } from "vitest";
import { apiGatewayEvent, type HttpOptions, sqsEvent } from "../support/aws-events.ts";
import { setup } from "../support/fixtures.ts";
import { startMailServer } from "../support/mail-server.ts";
import { startAwsDeployment } from "./deployment.ts";

const ORIGIN = "https://board.example";
const DASHBOARD = "https://dashboard.board.example";

const mail = await setup(startMailServer());
const cloud = await setup(startAwsDeployment({ accounts: true }));
const env = { AUTH_MODE: "accounts", BASE_URL: ORIGIN, CORS_ORIGINS: DASHBOARD, ...mail.environment };
const accounts = openAccounts(parseSettings({ ...cloud.environment, ...env }, "lambda"), () =>
  cloud.world.runtime.createContext(),
);

const functions = new Map<string, ReturnType<typeof cloud.lambda>>();
/** Sends a request to a function of a deployment with accounts. */
async function send(name: string, method: string, path: string, body?: object, options: HttpOptions = {}) {
  if (!functions.has(name)) functions.set(name, cloud.lambda(name, { env }));
  const headers = { "content-type": "application/json", ...options.headers };
  const event = apiGatewayEvent(method, path, { ...(body && { body: JSON.stringify(body) }), ...options, headers });
  const result = await (await functions.get(name)!).invoke<APIGatewayProxyStructuredResultV2>(event);
  return { status: result.statusCode!, cookies: result.cookies ?? [], text: result.body ?? "", result };
}

async function signIn(): Promise<string> {
  const token = await accounts.createOwnerLink();
  const answer = await send("accounts", "POST", "/api/auth/sign-in/link", { token }, { headers: { origin: ORIGIN } });
  expect([answer.status, answer.cookies]).toEqual([
    200,
    [expect.stringMatching(/^__Secure-board\.session_token=[^;]+; Max-Age=\d+; Path=\/; HttpOnly; Secure; SameSite=Lax$/)],
  ]);
  return answer.cookies[0]!.split(";")[0]!;
}

test("the function for accounts signs a person in, and every other function accepts the session", async () => {
  const cookie = await signIn();
  for (const [name, path] of [
    ["users", "/api/v1/users/me"],
    ["tags", "/api/v1/tags"],
  ] as const) {
    const { status, text } = await send(name, "GET", path, undefined, { cookies: [cookie] });
    expect([name, status], text).toEqual([name, 200]);
    expect((await send(name, "GET", path, undefined, { cookies: [`${cookie}x`] })).status).toBe(401);
  }
  expect(
    (await send("accounts", "POST", "/api/auth/sign-out", {}, { cookies: [cookie], headers: { origin: ORIGIN } })).status,
  ).toBe(200);
  expect((await send("users", "GET", "/api/v1/users/me", undefined, { cookies: [cookie] })).status).toBe(401);
});

test("a session's cookie counts for pages of the service and of a listed dashboard only", async () => {
  const cookies = [await signIn()];
  const attempt = (origin: string) =>
    send("keys", "POST", "/api/v1/keys", { name: "CI", access: "read" }, { cookies, headers: { origin } });
  for (const origin of [ORIGIN, DASHBOARD]) expect([origin, (await attempt(origin)).status]).toEqual([origin, 200]);
  const { result } = await attempt(DASHBOARD);
  expect(result.headers).toMatchObject({
    "access-control-allow-origin": DASHBOARD,
    "access-control-allow-credentials": "true",
  });
  const foreign = await attempt("https://evil.example");
  expect(foreign.status).toBe(403);
  expect(foreign.result.headers).not.toHaveProperty("access-control-allow-origin");
});

test("a mail with a link is stored encrypted, and the consumer sends it after the function that took the request is frozen", async () => {
  const cookies = [await signIn()];
  const asked = await send(
    "accounts",
    "POST",
    "/api/auth/email-link",
    { email: "olga@example.com" },
    { cookies, headers: { origin: ORIGIN } },
  );
  expect(asked.status, asked.text).toBe(200);
  const [job] = await cloud.world.db.select().from(jobs).where(eq(jobs.kind, "account.mail"));
  expect(job).toMatchObject({ status: "queued", payload: {} });
  expect(Buffer.from(job!.secret_sealed!).toString("latin1")).not.toContain("olga");
  const consumer = await cloud.lambda("outbound", { env });
  await consumer.invoke(sqsEvent([{ id: job!.id }]));
  expect(mail.mails).toMatchObject([{ recipients: ["olga@example.com"], text: expect.stringContaining(`${ORIGIN}/#email=`) }]);
});

test("outside of accounts mode the function for accounts answers 404", async () => {
  const answer = await cloud.request("accounts", "POST", "/api/auth/sign-in/link", { body: "{}" });
  expect(answer.status).toBe(404);
});
