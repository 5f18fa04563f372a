import { createHmac } from "node:crypto";
import { beforeEach, expect, test } from "vitest";
import { setupWorld } from "../support/fixtures.ts";

const MINUTE_MS = 60_000;

const environment = {
  CORS_ORIGINS: "https://app.example",
  AUTH_FAILURES_PER_MINUTE: "2",
  WEBHOOK_RATE_PER_MINUTE: "2",
};
const limits = {
  webhook_refusals_per_minute: 3,
  caller_running_requests: 1,
  caller_waiting_requests: 1,
  organization_payload_bytes: 2_000,
};
const world = await setupWorld({ environment, limits });
const home = await world.tenant("home");

/** Each test starts at the beginning of a minute, because the limits are counted per clock minute. */
beforeEach(() => world.elapse(MINUTE_MS - (world.now().getTime() % MINUTE_MS)));

const limitsOf = ({ headers }: { headers: Headers }) => [headers.get("ratelimit-policy"), headers.get("ratelimit")];
const left = (name: string, remaining: number) =>
  expect.stringMatching(new RegExp(`^"${name}";r=${remaining};t=(60|[1-5]\\d?)$`));

async function addWebhook(fields: object = {}): Promise<string> {
  const path = `/api/v1/boards/${home.board_id}/webhooks`;
  const { body } = await world.call("POST", path, { token: home.owner.token, body: { description: "Read it", ...fields } });
  return `${path}/${body.id}`;
}

test("posts to a webhook show its rate per minute and how much of it is left", async () => {
  const path = await addWebhook();
  const policy = '"webhook_rate_per_minute";q=2;w=60';
  const answers = [];
  for (const n of [1, 2, 3]) answers.push(await world.call("POST", path, { body: { n } }));
  expect(answers.map(({ status }) => status)).toEqual([202, 202, 429]);
  expect(answers.map(limitsOf)).toEqual([1, 0, 0].map((remaining) => [policy, left("webhook_rate_per_minute", remaining)]));
});

test("refused posts to a signed webhook show the limit of refusals", async () => {
  const path = await addWebhook({ secret: "s3cret-of-the-webhook" });
  const answer = await world.call("POST", path, { body: {}, headers: { "x-webhook-signature": "sha256=00" } });
  expect(answer.status).toBe(403);
  expect(limitsOf(answer)).toEqual(['"webhook_refusals_per_minute";q=3;w=60', left("webhook_refusals_per_minute", 2)]);
});

test("failed attempts to sign in show how many are left", async () => {
  const answers = [];
  for (let attempt = 1; attempt <= 3; attempt++) answers.push(await world.call("GET", "/api/v1/users/me", { token: "wrong" }));
  expect(answers.map(({ status }) => status)).toEqual([401, 401, 429]);
  const policy = '"auth_failures_per_minute";q=2;w=60';
  expect(answers.map(limitsOf)).toEqual([1, 0, 0].map((remaining) => [policy, left("auth_failures_per_minute", remaining)]));
});

test("if a client has too many waiting requests, the refusal of the next one names the limit of waiting requests", async () => {
  const read = () => world.call("GET", "/api/v1/boards", { token: home.owner.token });
  const answers = await Promise.all(Array.from({ length: 6 }, read));
  const refused = answers.find(({ status }) => status === 429)!;
  expect(limitsOf(refused)).toEqual([
    '"caller_waiting_requests";q=1;qu="concurrent-requests"',
    '"caller_waiting_requests";r=0;t=5',
  ]);
});

test("a post that exceeds its organization's payload storage is refused with the number of bytes that the organization may store", async () => {
  const secret = "known";
  const send = async (path: string, raw: string) => {
    const signature = createHmac("sha256", secret).update(raw).digest("hex");
    return world.call("POST", path, { raw, headers: { "x-hub-signature-256": signature } });
  };
  const paths = [await addWebhook({ secret }), await addWebhook({ secret })];
  const statuses = [];
  for (const path of paths) statuses.push((await send(path, "x".repeat(1_500))).status);
  const refused = await send(paths[0]!, "x");
  expect([...statuses, refused.status]).toEqual([202, 202, 429]);
  expect(limitsOf(refused)).toEqual([
    '"organization_payload_bytes";q=2000;qu="content-bytes"',
    '"organization_payload_bytes";r=0;t=3600',
  ]);
});

test("Retry-After of a refused request is never shorter than the time until its limit allows another request", async () => {
  const path = await addWebhook();
  const posts = await Promise.all([1, 2, 3].map((n) => world.call("POST", path, { body: { n } })));
  const signIns = await Promise.all([1, 2, 3].map(() => world.call("GET", "/api/v1/users/me", { token: "wrong" })));
  const reads = await Promise.all(
    Array.from({ length: 6 }, () => world.call("GET", "/api/v1/boards", { token: home.owner.token })),
  );
  for (const answers of [posts, signIns, reads]) {
    const { headers } = answers.find(({ status }) => status === 429)!;
    const seconds = Number(/;t=(\d+)/.exec(headers.get("ratelimit")!)![1]);
    expect(Number(headers.get("retry-after"))).toBeGreaterThanOrEqual(seconds);
  }
});

test("answers to requests that count toward no limit have no rate limit headers", async () => {
  for (const path of ["/healthz", "/api/v1/boards", "/nowhere"])
    expect([path, ...limitsOf(await world.call("GET", path, { token: home.owner.token }))]).toEqual([path, null, null]);
});

test("a page of a listed origin may read the rate limit headers", async () => {
  const { headers } = await world.call("GET", "/healthz", { headers: { origin: "https://app.example" } });
  const exposed = headers.get("access-control-expose-headers")?.split(", ");
  expect(exposed).toEqual(expect.arrayContaining(["RateLimit-Policy", "RateLimit", "Preference-Applied", "Retry-After"]));
});
