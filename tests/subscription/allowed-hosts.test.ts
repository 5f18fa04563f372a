import { beforeEach, expect, onTestFinished, test } from "vitest";
import { setup } from "../support/fixtures.ts";
import { reply, startReceiver } from "../support/receiver.ts";
import { createWorld, openTestDatabase, type WorldOptions } from "../support/world.ts";

const BASE = "/api/v1/subscriptions";
const RULE = "The url must be https, at a public host and port 443.";
const LOCAL_TOKEN = "a-shared-token-of-a-local-server-with-more-than-fifty-characters";

const receiver = await setup(startReceiver());
receiver.answer = reply(200, "an internal page");

beforeEach(() => void (receiver.messages.length = 0));

async function startWorld(environment: Record<string, string>, options: WorldOptions = {}) {
  const world = await createWorld({ ...options, environment: { SUBSCRIPTION_ALLOWED_HOSTS: "", ...environment } });
  onTestFinished(() => world.close());
  const token = environment["AUTH_MODE"] === "local" ? LOCAL_TOKEN : (await world.person("owner")).token;
  await world.call("GET", "/api/v1/auth/bootstrap", { token });
  const send = (method: string, path: string, body: object = {}) => world.call(method, path, { token, body });
  return { world, token, send, subscribe: (url: string) => send("POST", BASE, { url }) };
}

test.each(["127.0.0.0/8", "127.0.0.1,localhost"])(
  "a host that gateways may use (%s) is not allowed as a receiver",
  async (host) => {
    const { subscribe } = await startWorld({ GATEWAY_ALLOWED_HOSTS: host });
    for (const url of [receiver.url, receiver.url.replace("127.0.0.1", "localhost"), "https://127.0.0.1/"])
      expect(await subscribe(url)).toMatchObject({ status: 422, body: { detail: RULE } });
  },
);

test("a receiver whose host is no longer allowed gets no message, and a test message does not show its answer", async () => {
  const database = await openTestDatabase();
  onTestFinished(() => database.close());
  const before = await startWorld({ SUBSCRIPTION_ALLOWED_HOSTS: "127.0.0.1" }, { database });
  const { id } = (await before.subscribe(receiver.url)).body;
  expect((await before.send("POST", `${BASE}/${id}/test`)).body).toMatchObject({ ok: true, body: "an internal page" });
  const { issuer } = before.world.identities;
  const same = { OIDC_ISSUER: issuer, OIDC_JWKS_URL: `${issuer}keys` };
  const after = await startWorld({ ...same, GATEWAY_ALLOWED_HOSTS: "127.0.0.0/8" }, { database });
  const trial = await after.world.call("POST", `${BASE}/${id}/test`, { token: before.token, body: {} });
  expect(trial.body).toMatchObject({ ok: false, status_code: null, body: null, error: RULE });
  expect(receiver.messages).toHaveLength(1);
});

test("http and any port are allowed at the hosts that SUBSCRIPTION_ALLOWED_HOSTS names, and nowhere else", async () => {
  const { subscribe } = await startWorld({ SUBSCRIPTION_ALLOWED_HOSTS: "127.0.0.1,10.1.0.0/16" });
  for (const url of [receiver.url, "http://10.1.2.3:8080/events", "https://127.0.0.1:8443/", "https://93.184.215.14/"])
    expect((await subscribe(url)).status, url).toBe(200);
  for (const url of ["http://127.0.0.2/", "http://10.2.0.1/", "http://93.184.215.14/", "https://93.184.215.14:8443/"])
    expect(await subscribe(url), url).toMatchObject({ status: 422, body: { detail: RULE } });
});

test("a local server in local mode posts to receivers on loopback, and to no other private host", async () => {
  const { send, subscribe } = await startWorld({ AUTH_MODE: "local", LOCAL_AUTH_TOKEN: LOCAL_TOKEN });
  for (const url of [receiver.url, receiver.url.replace("127.0.0.1", "localhost"), receiver.url.replace("127.0.0.1", "[::1]")])
    expect((await subscribe(url)).status, url).toBe(200);
  for (const url of ["http://10.0.0.1/", "http://192.168.1.2:3000/", "http://169.254.169.254/latest/", "http://[fd00::1]/"])
    expect(await subscribe(url), url).toMatchObject({ status: 422, body: { detail: RULE } });
  const { id } = (await subscribe(receiver.url)).body;
  expect((await send("POST", `${BASE}/${id}/test`)).body).toMatchObject({ ok: true, status_code: 200 });
});
