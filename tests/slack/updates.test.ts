import { jobs, organization_members, slack_decisions } from "@board/core/schema/all-tables";
import { and, eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { requestApproval } from "../support/approval.ts";
import type { Tenant } from "../support/world.ts";
import { buttonsOf, setupSlack } from "./slack-fixture.ts";

const { world, slack, connect, link, addTenant, ask, press, readApproval } = await setupSlack();

const HOUR = 3_600_000;
const decide = ({ board_id, owner }: Tenant, id: string, body: object = { status: "approved" }) =>
  world.call("PATCH", `/api/v1/boards/${board_id}/approvals/${id}`, { token: owner.token, body });
const decideAndSend = async (home: Tenant, id: string, body?: object) => {
  expect((await decide(home, id, body)).status).toBe(200);
  await send();
};
/** Sends waiting messages. Deletes notifications of agents first, because they would fill the one batch that `drain` looks at. */
const send = async () => {
  await world.db.delete(jobs).where(eq(jobs.kind, "notice"));
  await world.drain();
};
const linesOf = (message: { blocks: object[] }) => JSON.stringify(message.blocks);
const listRows = ({ organization_id }: Tenant) =>
  world.db.select().from(slack_decisions).where(eq(slack_decisions.organization_id, organization_id));

test("a decision in the console replaces the message of everybody who was asked, and says who decided", async () => {
  const home = await addTenant("ann");
  const mate = await world.member("abe", home, "member", { write: true });
  await link(mate, "UABE");
  await world.call("PUT", `/api/v1/boards/${home.board_id}/follow`, { token: mate.token });
  const { id } = await ask(home, { action_type: "Deploy" });
  await decideAndSend(home, id, { status: "rejected" });
  for (const user of [home.slack_user, "UABE"]) {
    const [shown] = slack.shownTo(user);
    expect(shown.text).toMatch(/^Rejected by .*: Deploy$/);
    expect(buttonsOf(shown)).toEqual([]);
  }
  expect(await listRows(home)).toEqual([]);
});

test("a decision by a button replaces the messages of the other people too, and the message of the button only once", async () => {
  const home = await addTenant("bea");
  const mate = await world.member("ben", home, "member", { write: true });
  await link(mate, "UBEN");
  await world.call("PUT", `/api/v1/boards/${home.board_id}/follow`, { token: mate.token });
  await ask(home, { action_type: "question", text: "Which colour?", options: ["Red", "Blue"], description: undefined });
  const before = slack.countUpdates();
  await press("UBEN", buttonsOf(slack.messagesTo("UBEN")[0])[1]);
  for (const user of [home.slack_user, "UBEN"]) {
    expect(linesOf(slack.shownTo(user)[0])).toContain("answered: Blue");
    expect(buttonsOf(slack.shownTo(user)[0])).toEqual([]);
  }
  expect(slack.countUpdates() - before).toBe(1);
});

test("after a day the message loses its buttons, and a later decision still replaces it", async () => {
  const home = await addTenant("cem");
  const { id } = await ask(home, { action_type: "Deploy" });
  world.elapse(23 * HOUR);
  await send();
  expect(buttonsOf(slack.shownTo(home.slack_user)[0])).toHaveLength(3);
  world.elapse(2 * HOUR);
  await send();
  const [shown] = slack.shownTo(home.slack_user);
  expect(linesOf(shown)).toContain("have expired");
  expect(buttonsOf(shown).map(({ text }) => text.text)).toEqual(["Open"]);
  await decideAndSend(home, id);
  expect(linesOf(slack.shownTo(home.slack_user)[0])).toContain("Approved by");
});

/** More approvals than get separate messages, so that they share one message. */
const MANY = 6;

test("when approvals share a message and one of them is decided, the others keep their buttons", async () => {
  const home = await addTenant("dan");
  slack.refuse({ status: 429, headers: { "retry-after": "60" } });
  const ids: string[] = [];
  for (let n = 0; n < MANY; n++) ids.push((await requestApproval(world, home, { action_type: `Step ${n}` })).id);
  await send();
  slack.refuse(null);
  world.elapse(3 * 60_000);
  await send();
  const messages = slack.messagesTo(home.slack_user);
  expect(messages).toHaveLength(1);
  const pressed = await press(home.slack_user, buttonsOf(messages[0])[0]);
  expect(pressed.answers).toEqual([]);
  expect(await readApproval(home, ids[0]!)).toMatchObject({ status: "approved" });
  await decideAndSend(home, ids[1]!, { status: "rejected" });
  const [shown] = slack.shownTo(home.slack_user);
  expect(linesOf(shown)).toMatch(/Approved by .*Rejected by /);
  expect(buttonsOf(shown)).toHaveLength(3 * (MANY - 2));
  await press(home.slack_user, buttonsOf(shown)[0]);
  expect(await readApproval(home, ids[2]!)).toMatchObject({ status: "approved" });
  for (const id of ids.slice(3)) await decide(home, id);
  await send();
  expect(buttonsOf(slack.shownTo(home.slack_user)[0])).toEqual([]);
  expect(await listRows(home)).toEqual([]);
});

test("while Slack asks for a pause of updates, no message is replaced before the pause ends, and new messages are sent meanwhile", async () => {
  const home = await addTenant("eli");
  const first = await ask(home);
  const second = await ask(home);
  slack.refuseUpdates({ status: 429, headers: { "retry-after": "300" } });
  await decideAndSend(home, first.id);
  const before = slack.countUpdates();
  await decideAndSend(home, second.id);
  world.elapse(4 * 60_000);
  await ask(home);
  expect(slack.countUpdates()).toBe(before);
  expect(slack.messagesTo(home.slack_user)).toHaveLength(3);
  slack.refuseUpdates(null);
  world.elapse(2 * 60_000);
  await send();
  expect(slack.shownTo(home.slack_user).map((message) => buttonsOf(message).length)).toEqual([0, 0, 3]);
});

test("the answer to a button waits as long as Slack asks", async () => {
  const home = await addTenant("eve");
  await ask(home);
  slack.refuseAnswers({ status: 429, headers: { "retry-after": "120" } });
  const [approve] = buttonsOf(slack.messagesTo(home.slack_user)[0]);
  await press(home.slack_user, approve);
  slack.refuseAnswers(null);
  world.elapse(60_000);
  await send();
  expect(buttonsOf(slack.shownTo(home.slack_user)[0])).toHaveLength(3);
  world.elapse(70_000);
  await send();
  expect(buttonsOf(slack.shownTo(home.slack_user)[0])).toEqual([]);
});

test("an app with a revoked token affects no other organization, and connecting the app again replaces the waiting messages", async () => {
  const home = await addTenant("fay");
  const { id } = await ask(home);
  slack.refuseUpdates({ error: "token_revoked" });
  await decideAndSend(home, id);
  for (let attempt = 0; attempt < 6; attempt++) {
    world.elapse(10 * 60_000);
    await send();
  }
  const [job] = await world.db
    .select()
    .from(jobs)
    .where(and(eq(jobs.kind, "slack.update"), eq(jobs.organization_id, home.organization_id), eq(jobs.status, "dead")));
  expect(job).toMatchObject({ last_error: "Slack answered token_revoked." });
  slack.refuseUpdates(null);
  const other = await addTenant("flo");
  const theirs = await ask(other);
  await decideAndSend(other, theirs.id);
  expect(buttonsOf(slack.shownTo(other.slack_user)[0])).toEqual([]);
  expect(buttonsOf(slack.shownTo(home.slack_user)[0])).toHaveLength(3);
  await connect(home.owner);
  await send();
  expect(buttonsOf(slack.shownTo(home.slack_user)[0])).toEqual([]);
});

test("the replacement of a message that no longer exists in Slack is not tried again", async () => {
  const home = await addTenant("gus");
  const { id } = await ask(home);
  slack.refuseUpdates({ error: "message_not_found" });
  await decideAndSend(home, id);
  slack.refuseUpdates(null);
  expect(await listRows(home)).toEqual([]);
});

test("somebody who was removed from the organization does not learn the decision, and has no buttons any more", async () => {
  const home = await addTenant("hal");
  const mate = await world.member("hob", home, "member", { write: true });
  await link(mate, "UHOB");
  await world.call("PUT", `/api/v1/boards/${home.board_id}/follow`, { token: mate.token });
  const { id } = await ask(home, { action_type: "Deploy" });
  const isMate = and(eq(organization_members.organization_id, home.organization_id), eq(organization_members.role, "member"));
  await world.db.delete(organization_members).where(isMate);
  await decideAndSend(home, id);
  const [shown] = slack.shownTo("UHOB");
  expect(linesOf(shown)).toContain("does not wait for you any more");
  expect(linesOf(shown) + shown.text).not.toMatch(/Deploy|Approved/);
  expect(linesOf(slack.shownTo(home.slack_user)[0])).toContain("Approved by");
});

test("a decision that is made while its message is being sent to Slack replaces the message afterwards", async () => {
  const home = await addTenant("ida");
  const approval = await requestApproval(world, home);
  slack.whilePosting(() => decide(home, approval.id));
  await send();
  await send();
  expect(slack.messagesTo(home.slack_user)).toHaveLength(1);
  expect(linesOf(slack.shownTo(home.slack_user)[0])).toContain("Approved by");
});

test("a decision in an organization without Slack creates no job that updates Slack messages", async () => {
  const home = await world.tenant("jon");
  const { id } = await ask(home);
  await decideAndSend(home, id);
  const made = await world.db
    .select()
    .from(jobs)
    .where(and(eq(jobs.kind, "slack.update"), eq(jobs.organization_id, home.organization_id)));
  expect(made).toEqual([]);
});
