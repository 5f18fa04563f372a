import { expect, test } from "vitest";
import { startFakeGateway } from "../support/fake-gateway/server.ts";
import { setup } from "../support/fixtures.ts";
import type { CallOptions } from "../support/http.ts";
import { createWebhook } from "../support/webhook.ts";
import { createWorld, openTestDatabase, TEST_KEYS } from "../support/world.ts";

/** Two services on one database, before and after a change of ENCRYPTION_KEY, without the SQL of docs/operating.md. */
const database = await setup(openTestDatabase());
const before = await setup(createWorld({ database }));
const { issuer } = before.identities;
const identities = { OIDC_ISSUER: issuer, OIDC_JWKS_URL: `${issuer}keys` };
const after = await setup(createWorld({ database, environment: { ...identities, ENCRYPTION_KEY: TEST_KEYS.TOKEN_PEPPER } }));
const host = await setup(startFakeGateway({ token: "test-token-123" }));
const home = await before.tenant("home", host.url);
const { token } = home.owner;
const gateway = `/api/v1/gateways/${home.gateway_id}`;
const invites = "/api/v1/organizations/me/invites";
const push = "/api/v1/users/me/push";

const ask = (method: string, path: string, options: CallOptions = {}) => after.call(method, path, { token, ...options });
/** Returns the events of errors that the service logged since the last call, apart from the line of each request. */
const takeErrors = () =>
  after.log
    .splice(0)
    .filter(({ level, event }) => level === "error" && event !== "http.request")
    .map(({ event }) => event);

const webhook = await createWebhook(before, home, { secret: "s3cret" });
const subscription = await before.call("POST", `/api/v1/boards/${home.board_id}/subscriptions`, {
  token,
  body: { url: "https://127.0.0.1:9/hook", format: "slack", event_types: ["task.created"] },
});
const invite = await before.call("POST", invites, { token, body: { invited_email: "new@example.com", role: "member" } });
await before.call("GET", push, { token });

test("lists of gateways, webhooks, subscriptions and invites are readable after a change of the key, and show that secrets are set", async () => {
  const [listed] = (await ask("GET", "/api/v1/gateways")).body.items;
  expect(listed).toMatchObject({ id: home.gateway_id, has_token: true, token: "********" });
  expect((await ask("GET", invites)).body.items).toMatchObject([{ id: invite.body.id, token: "" }]);
  expect((await ask("GET", `/api/v1/boards/${home.board_id}/webhooks`)).body.items).toMatchObject([{ has_secret: true }]);
  expect((await ask("GET", `/api/v1/boards/${home.board_id}/subscriptions`)).body.items).toHaveLength(1);
  expect(takeErrors()).toEqual([]);
});

test("a request that needs a secret of another key gets 503 that names ENCRYPTION_KEY, and the log has no stack", async () => {
  const answers = [
    await ask("GET", push),
    await ask("GET", `/api/v1/gateway/sessions?gateway_id=${home.gateway_id}`),
    await ask("PATCH", gateway, { body: { disable_device_pairing: true, token: "********" } }),
    await after.call("POST", webhook.endpoint_path, { raw: "{}" }),
    await ask("POST", `/api/v1/boards/${home.board_id}/subscriptions/${subscription.body.id}/test`, { body: {} }),
  ];
  for (const { status, headers, body } of answers)
    expect([status, headers.get("retry-after"), body.detail]).toEqual([503, "300", expect.stringContaining("ENCRYPTION_KEY")]);
  expect(takeErrors()).toEqual(answers.map(() => "secret.unreadable"));
});

test("each secret of a changed key can be entered again, and what has an unreadable secret can be removed", async () => {
  expect((await ask("PATCH", gateway, { body: { name: "Renamed" } })).status).toBe(200);
  expect((await ask("PATCH", webhook.endpoint_path, { body: { secret: "another" } })).status).toBe(200);
  expect((await after.call("POST", webhook.endpoint_path, { raw: "{}" })).status).toBe(403);
  expect((await ask("DELETE", `${invites}/${invite.body.id}`)).status).toBe(200);
  const url = "https://127.0.0.1:9/other-hook";
  const subscriptions = `/api/v1/boards/${home.board_id}/subscriptions/${subscription.body.id}`;
  expect((await ask("PATCH", subscriptions, { body: { url } })).status).toBe(200);
  expect((await ask("POST", `${subscriptions}/secret`)).status).toBe(200);
  expect((await ask("DELETE", "/api/v1/organizations/me")).status).toBe(200);
  expect(takeErrors()).toEqual([]);
});
