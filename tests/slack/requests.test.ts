import { expect, test } from "vitest";
import { buttonsOf, setupSlack } from "./slack-fixture.ts";

const { world, slack, addTenant, ask, readApproval } = await setupSlack();
const home = await addTenant("home");
const post = (signed: { raw: string; headers: Record<string, string> }, path = "interactions") =>
  world.call("POST", `/api/v1/slack/${path}`, signed);

const MINUTE = 60_000;
const at = (minutes: number) => new Date(world.now().getTime() + minutes * MINUTE);

test("a request to the Slack app counts only with Slack's signature of the last five minutes", async () => {
  const { id } = await ask(home);
  const [approve] = buttonsOf(slack.messagesTo(home.slack_user).at(-1));
  const { payload } = slack.press(home.slack_user, approve);
  const good = slack.sign({ payload }, world.now());
  const { "x-slack-signature": _, ...unsigned } = good.headers;
  const bad = [
    slack.sign({ payload }, world.now(), "0".repeat(32)),
    slack.sign({ payload }, at(-6)),
    slack.sign({ payload }, at(6)),
    { raw: good.raw, headers: unsigned },
    { raw: `${good.raw}&more=1`, headers: good.headers },
    { raw: good.raw, headers: { ...good.headers, "x-slack-request-timestamp": String(Math.floor(at(1).getTime() / 1000)) } },
    { raw: good.raw, headers: { ...good.headers, "x-slack-signature": "v0=zz" } },
  ];
  for (const request of bad) expect((await post(request as typeof good)).status).toBe(403);
  expect(await readApproval(home, id)).toMatchObject({ status: "pending" });
  expect((await post(good)).status).toBe(200);
  expect((await post(good)).status).toBe(200);
  expect(await readApproval(home, id)).toMatchObject({ status: "approved" });
});

test.each([
  ["no payload", {}],
  ["no JSON", { payload: "{" }],
  ["another shape", { payload: "[]" }],
  [
    "an id that no database takes",
    { payload: JSON.stringify({ type: "x", team: { id: "\0" }, user: { id: "U1" } }), team_id: "\0", user_id: "\0" },
  ],
  ["an unknown workspace", { payload: JSON.stringify({ type: "block_actions", team: { id: "TX" }, user: { id: "U1" } }) }],
])("a request to the Slack app with %s is refused like one with a wrong signature", async (_what, form) => {
  for (const path of ["interactions", "commands"]) {
    const { status, body } = await post(slack.sign(form as Record<string, string>, world.now()), path);
    expect([status, body.detail]).toEqual([403, "Invalid webhook signature."]);
  }
});

test("an answer is sent only to Slack, whatever address a request names", async () => {
  await ask(home);
  const [approve] = buttonsOf(slack.messagesTo(home.slack_user).at(-1));
  const payload = JSON.parse(slack.press(home.slack_user, approve).payload);
  for (const response_url of [
    "https://evil.example/",
    "http://hooks.slack.com/x",
    "https://hooks.slack.com.evil.example/",
    "nonsense",
  ]) {
    const signed = slack.sign({ payload: JSON.stringify({ ...payload, response_url }) }, world.now());
    expect((await post(signed)).status).toBe(200);
  }
  // A job that sends to any other address would fail at the Slack stand-in.
  await world.drain();
  expect((await world.call("GET", "/api/v1/jobs?status=dead", { token: home.owner.token })).body.items).toEqual([]);
});

test.each([
  { type: "view_submission" },
  { type: "block_actions", actions: [] },
  { type: "block_actions", actions: [{ action_id: "approved", value: "x.y" }] },
])("a signed request of Slack that decides nothing is acknowledged: %j", async (fields) => {
  const payload = JSON.stringify({ team: { id: slack.team_id }, user: { id: "U1" }, ...fields });
  expect((await post(slack.sign({ payload }, world.now()))).status).toBe(200);
});
