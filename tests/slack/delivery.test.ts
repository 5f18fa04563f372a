import { channel_deliveries, organization_members, slack_apps } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { requestApproval } from "../support/approval.ts";
import { APP, buttonsOf, LINK, setupSlack } from "./slack-fixture.ts";

const { world, slack, connect, command, link, addTenant, ask, press, readApproval } = await setupSlack();

test("after an admin has connected the app and a person has linked their Slack user, the person gets a decision as a message", async () => {
  const home = await world.tenant("ann");
  const { token } = home.owner;
  expect((await world.call("POST", LINK, { token })).status).toBe(409);
  expect((await connect(home.owner)).body).toMatchObject({ team_id: slack.team_id, team_name: "Acme", last_error: null });
  await link(home.owner, "UANN");
  const { id } = await ask(home, { action_type: "Deploy", description: "All tests pass." });
  const [message] = slack.messagesTo("UANN");
  expect(message.text).toContain("asks for approval: Deploy");
  expect(buttonsOf(message).map(({ text }) => text.text)).toEqual(["Approve", "Reject", "Open"]);
  const pressed = await press("UANN", buttonsOf(message)[0]);
  expect(pressed.status).toBe(200);
  expect(pressed.answers).toMatchObject([{ replace_original: true, text: expect.stringMatching(/^Approved by .*: Deploy$/) }]);
  expect(buttonsOf(pressed.answers[0])).toEqual([]);
  expect(await readApproval(home, id)).toMatchObject({ status: "approved" });
  const channels = await world.call("GET", "/api/v1/users/me/channels", { token });
  expect(channels.body).toMatchObject([{ type: "slack", name: "UANN in Acme", organization_id: home.organization_id }]);
  const tested = await world.call("POST", `/api/v1/users/me/channels/${channels.body[0].id}/test`, { token });
  expect(tested.body).toEqual({ ok: true, error: null });
});

test("a button that is pressed after the decision changes nothing, and its message is replaced by one that says who decided", async () => {
  const home = await addTenant("bea");
  const { id } = await ask(home);
  const [approve, reject] = buttonsOf(slack.messagesTo(home.slack_user)[0]);
  await world.call("PATCH", `/api/v1/boards/${home.board_id}/approvals/${id}`, {
    token: home.owner.token,
    body: { status: "rejected" },
  });
  const late = await press(home.slack_user, approve);
  expect(late.answers).toMatchObject([{ replace_original: true, text: expect.stringContaining("Rejected by") }]);
  await press(home.slack_user, reject);
  expect(await readApproval(home, id)).toMatchObject({ status: "rejected" });
});

test("the options of a question are buttons, and an answer in the person's own words opens the page", async () => {
  const home = await addTenant("cem");
  const { id } = await ask(home, {
    action_type: "question",
    text: "Which colour?",
    options: ["Red", "Blue"],
    allow_text: true,
    description: undefined,
  });
  const buttons = buttonsOf(slack.messagesTo(home.slack_user)[0]);
  expect(buttons.map(({ text }) => text.text)).toEqual(["Red", "Blue", "Answer in own words", "No answer"]);
  expect(buttons[2].url).toMatch(/^https:\/\/board\.example\.com\/decide\?token=/);
  expect((await press(home.slack_user, buttons[2])).answers).toEqual([]);
  const { answers } = await press(home.slack_user, buttons[1]);
  expect(answers[0].blocks[1].elements[0].text).toContain("answered: Blue");
  expect((await readApproval(home, id)).payload.answer).toMatchObject({ option: "Blue" });
});

test("the button in another person's message decides nothing, and the person who pressed it is led to the console", async () => {
  const home = await addTenant("dan");
  const mate = await world.member("dora", home, "member", { write: true });
  await link(mate, "UDORA");
  const { id } = await ask(home);
  const [approve] = buttonsOf(slack.messagesTo(home.slack_user)[0]);
  for (const user_id of ["UDORA", "USTRANGER"]) {
    const { status, answers } = await press(user_id, approve);
    expect([status, answers]).toEqual([
      200,
      [expect.objectContaining({ response_type: "ephemeral", text: expect.stringContaining("https://board.example.com") })],
    ]);
  }
  expect(await readApproval(home, id)).toMatchObject({ status: "pending" });
});

test("a person who was removed from the organization gets no further messages, and an earlier button decides nothing", async () => {
  const home = await addTenant("eli");
  await ask(home);
  const [message] = slack.messagesTo(home.slack_user);
  await requestApproval(world, home);
  await world.db.delete(organization_members).where(eq(organization_members.organization_id, home.organization_id));
  await world.drain();
  expect(slack.messagesTo(home.slack_user)).toHaveLength(1);
  const { answers } = await press(home.slack_user, buttonsOf(message)[0]);
  expect(answers).toMatchObject([{ response_type: "ephemeral", text: expect.stringContaining("not valid any more") }]);
});

test("a command links a Slack user only once, within ten minutes, and in the organization that created it", async () => {
  const home = await addTenant("fay");
  const make = async () => (await world.call("POST", LINK, { token: home.owner.token })).body.command.replace("/board ", "");
  const used = await make();
  expect((await command("UFAY2", used)).body.text).toContain("is linked");
  expect((await command("UEVE", used)).body.text).toContain("not valid any more");
  const late = await make();
  world.elapse(11 * 60_000);
  expect((await command("UEVE", late)).body.text).toContain("not valid any more");
  expect((await command("UEVE", `${late.slice(0, -3)}AAA`)).body.text).toContain("not valid any more");
  expect((await command("UEVE", "help")).body.text).toContain("/board link");
});

test("while Slack asks the app to wait, the app waits as long as Slack says, and no message is lost or sent twice", async () => {
  const home = await addTenant("gus");
  slack.refuse({ status: 429, headers: { "retry-after": "300" } });
  await ask(home);
  const before = slack.countPosts();
  await ask(home);
  world.elapse(4 * 60_000);
  await world.drain();
  expect(slack.countPosts()).toBe(before);
  expect((await world.call("GET", APP, { token: home.owner.token })).body).toMatchObject({ last_error: "Slack asks to wait." });
  slack.refuse(null);
  world.elapse(3 * 60_000);
  await world.drain();
  expect(slack.messagesTo(home.slack_user)).toHaveLength(2);
  expect((await world.call("GET", APP, { token: home.owner.token })).body).toMatchObject({ last_error: null, retry_at: null });
});

test("the app waits an hour at most, even if Slack asks for years", async () => {
  const home = await addTenant("gil");
  slack.refuse({ status: 429, headers: { "retry-after": "999999999" } });
  await ask(home);
  slack.refuse(null);
  world.elapse(61 * 60_000);
  await world.drain();
  expect(slack.messagesTo(home.slack_user)).toHaveLength(1);
});

test("a revoked token is shown to admins, and all messages arrive after it has been replaced", async () => {
  const home = await addTenant("hal");
  slack.refuse({ error: "token_revoked" });
  await ask(home);
  expect((await world.call("GET", APP, { token: home.owner.token })).body).toMatchObject({
    last_error: "Slack answered token_revoked.",
  });
  slack.refuse(null);
  expect((await connect(home.owner)).body).toMatchObject({ last_error: null });
  world.elapse(3 * 60_000);
  await world.drain();
  expect(slack.messagesTo(home.slack_user)).toHaveLength(1);
});

test("a message that Slack refuses is not sent again, and the reason is shown at the channel", async () => {
  const home = await addTenant("ida");
  slack.refuse({ error: "channel_not_found" });
  await ask(home);
  slack.refuse(null);
  world.elapse(3 * 3_600_000);
  await world.drain();
  expect(slack.messagesTo(home.slack_user)).toEqual([]);
  const rows = await world.db
    .select()
    .from(channel_deliveries)
    .where(eq(channel_deliveries.organization_id, home.organization_id));
  expect(rows).toMatchObject([{ status: "failed", last_error: "Slack answered channel_not_found." }]);
});

test("texts of other people stay plain text in Slack, whatever markup and length they have", async () => {
  const home = await addTenant("jon");
  const hostile = "<!channel> <@U1> <https://evil.example|Log in> *bold* :bomb: & \u202E\u0007";
  await ask(home, { action_type: hostile, description: `${hostile} ${"\u{1F4A5}".repeat(4_000)}` });
  await ask(home, { action_type: "question", text: hostile, options: ["x".repeat(200), "<!here>"], description: undefined });
  const messages = slack.messagesTo(home.slack_user);
  expect(messages).toHaveLength(2);
  expect(JSON.stringify(messages.map(({ blocks }) => blocks))).not.toContain('"mrkdwn"');
  for (const { text } of messages) {
    expect(text).not.toContain("<");
    expect(text).not.toContain("\u202E");
    expect(text).not.toContain("\u0007");
  }
  const { answers } = await press(home.slack_user, buttonsOf(messages[0])[0]);
  expect(answers[0].text).not.toContain("<");
});

test("without the app nobody gets messages in Slack, and the app's secrets are stored encrypted and never shown", async () => {
  const home = await addTenant("kim");
  const [row] = await world.db.select().from(slack_apps).where(eq(slack_apps.organization_id, home.organization_id));
  for (const sealed of [row!.bot_token_sealed, row!.signing_secret_sealed])
    expect(Buffer.from(sealed).toString("latin1")).not.toMatch(new RegExp(`${slack.bot_token}|${slack.signing_secret}`));
  const shown = await world.call("GET", APP, { token: home.owner.token });
  expect(shown.text).not.toMatch(/xoxb|secret/);
  expect((await world.call("DELETE", APP, { token: home.owner.token })).status).toBe(200);
  await ask(home);
  expect(slack.messagesTo(home.slack_user)).toEqual([]);
  expect((await world.call("GET", "/api/v1/users/me/channels", { token: home.owner.token })).body).toEqual([]);
  const audit = await world.call("GET", "/api/v1/audit", { token: home.owner.token });
  const actions = audit.body.items.map(({ action }: { action: string }) => action);
  expect(actions).toEqual(expect.arrayContaining(["slack.connected", "slack.removed"]));
  expect(audit.text).not.toMatch(/xoxb/);
});
