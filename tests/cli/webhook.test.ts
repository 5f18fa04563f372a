import { afterAll, expect, test } from "vitest";
import { openCommandLine } from "../support/command-line.ts";
import { cleanUpPrograms } from "../support/program.ts";
import { serve } from "../support/serve.ts";
import { setup, setupWorld } from "../support/fixtures.ts";

const world = await setupWorld();
const home = await world.tenant("home");
const server = await setup(serve((request) => world.app.fetch(request)));
const commandLine = await openCommandLine();
afterAll(cleanUpPrograms);

const SECRET = "a secret of both sides";
const SIGNING_KEY = `whsec_${Buffer.from("k".repeat(32)).toString("base64")}`;

async function addWebhook(fields: object): Promise<string> {
  const body = { description: "Triage it", ...fields };
  return (await world.call("POST", `/api/v1/boards/${home.board_id}/webhooks`, { token: home.owner.token, body })).body.id;
}

const send = (webhook: string, secret: string | null, ...args: string[]) =>
  commandLine
    .caller({ BOARD_URL: server.url, BOARD_TOKEN: home.owner.token, ...(secret !== null && { BOARD_WEBHOOK_SECRET: secret }) })
    .run(["webhook", "send", webhook, "--json", ...args], { input: "" });

test.each([
  ["generic", SECRET],
  ["github", SECRET],
  ["gitlab", SECRET],
  ["gitlab", SIGNING_KEY],
  ["stripe", SECRET],
  ["slack", SECRET],
  ["linear", SECRET],
  ["sentry", SECRET],
  ["standard_webhooks", SIGNING_KEY],
])("a test post is accepted by a webhook of %s with its secret, and refused with another secret", async (source, secret) => {
  const webhook = await addWebhook({ source, secret });
  const accepted = await send(webhook, secret);
  expect(accepted, accepted.stderr).toMatchObject({ code: 0 });
  expect(accepted.json()).toMatchObject({ ok: true, webhook_id: webhook, payload_id: expect.any(String) });
  const other = secret === SECRET ? "another secret" : `whsec_${Buffer.from("o".repeat(32)).toString("base64")}`;
  expect(await send(webhook, other)).toMatchObject({ code: 2, stdout: "" });
});

test("a test post has the body that was given and the header that the webhook names", async () => {
  const webhook = await addWebhook({ secret: SECRET, signature_header: "X-Shop-Signature" });
  const { payload_id } = (await send(webhook, SECRET, "--data", '{"lamps":14}')).json();
  const path = `/api/v1/boards/${home.board_id}/webhooks/${webhook}/payloads/${payload_id}`;
  expect((await world.call("GET", path, { token: home.owner.token })).body.payload).toEqual({ lamps: 14 });
});

test("webhook send without the secret of a webhook names the missing variable, and an unsigned post is refused", async () => {
  const webhook = await addWebhook({ secret: SECRET });
  expect(await send(webhook, null)).toMatchObject({ code: 1, stderr: expect.stringContaining("Set BOARD_WEBHOOK_SECRET") });
  expect(await send(webhook, null, "--unsigned")).toMatchObject({ code: 2 });
});
