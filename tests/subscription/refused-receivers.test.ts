import { isIP } from "node:net";
import type { ResolveName } from "@board/core/dns/address";
import { createNameResolver } from "@board/core/dns/resolver";
import { createHttpClient, locateAllowedReceiver } from "@board/core/http/https-client";
import { expect, test } from "vitest";
import { PRIVATE_HOSTS, REFUSED_ANSWERS, REFUSED_URLS } from "../support/refused-addresses.ts";
import { setupWorld } from "../support/fixtures.ts";

const BASE = "/api/v1/subscriptions";
const RULE = "The url must be https, at a public host and port 443.";
const PUBLIC = "93.184.215.14";

/** What the name `moving.example` resolves to. */
let moving: readonly string[] = [PUBLIC];
const resolveOthers = createNameResolver();
const resolve: ResolveName = async (name, options) =>
  name === "moving.example"
    ? moving.map((address) => ({ address, family: isIP(address.split("%")[0]!) }))
    : await resolveOthers(name, options);

const send = (method: string, path: string, body?: object) => world.call(method, path, { token: owner.token, body });
const subscribe = (url: string) => send("POST", BASE, { url });

const world = await setupWorld({
  environment: { SUBSCRIPTION_ALLOWED_HOSTS: "" },
  limits: { subscription_tests_per_minute: 0 },
  web: createHttpClient({ locateReceiver: locateAllowedReceiver(resolve) }),
});
const owner = await world.person("owner");
await send("GET", "/api/v1/auth/bootstrap");
const created = await subscribe("https://moving.example/events");
if (created.status !== 200) throw new Error(created.text);
/** An active subscription to `moving.example`. */
const subscription_id: string = created.body.id;

const move = (url: string) => send("PATCH", `${BASE}/${subscription_id}`, { url });

test.each(REFUSED_URLS.filter((url) => url !== ""))(
  "a subscription to the URL %j is neither created nor moved there",
  async (url) => {
    for (const answer of [await subscribe(url), await move(url)])
      expect(answer).toMatchObject({ status: 422, body: { detail: RULE } });
  },
);

test.each(PRIVATE_HOSTS)("a subscription to the host %s is neither created nor moved there", async (host) => {
  for (const answer of [await subscribe(`https://${host}/latest/meta-data`), await move(`https://${host}/`)])
    expect(answer).toMatchObject({ status: 422, body: { detail: RULE } });
});

test.each([22, 25, 80, 5432, 6379, 8443, 65_535])("a subscription to port %i of a public host is refused", async (port) => {
  expect(await subscribe(`https://${PUBLIC}:${port}/`)).toMatchObject({ status: 422, body: { detail: RULE } });
});

const addresses = PRIVATE_HOSTS.map((host) => host.replaceAll(/[[\]]/g, "")).filter((host) => isIP(host) !== 0);
const answers: (readonly [string, readonly string[]])[] = [
  ...REFUSED_ANSWERS,
  ...addresses.map((address) => [address, [address]] as const),
];

test.each(answers)("a name that resolves to %s after it was accepted gets no message", async (_about, found) => {
  moving = found;
  expect(await subscribe("https://moving.example/events")).toMatchObject({ status: 422, body: { detail: RULE } });
  const { body } = await send("POST", `${BASE}/${subscription_id}/test`);
  expect(body).toMatchObject({ ok: false, status_code: null, body: null, error: RULE });
  moving = [PUBLIC];
});
