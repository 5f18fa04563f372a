import { jobs, organization_members, users } from "@board/core/schema/all-tables";
import { signDecision } from "@board/core/channel/decision";
import { and, eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { listApprovalEvents } from "../support/approval.ts";
import { renew, setup } from "../support/fixtures.ts";
import { openServerWorld } from "../support/postgres-world.ts";
import { startSlackWorkspace } from "../support/slack-workspace.ts";
import { buttonsOf, toSlackFixture } from "./slack-fixture.ts";

const slack = await setup(startSlackWorkspace());
const { world } = await setup(openServerWorld({ web: slack.web, environment: { BASE_URL: "https://board.example.com" } }));
const { addTenant, link, ask } = toSlackFixture(world, slack);
const home = renew(async (n) => {
  // Notifications of agents wait for hosts that do not exist here. Many of them would fill the one batch that `drain` looks at.
  await world.db.delete(jobs).where(eq(jobs.kind, "notice"));
  return addTenant(`home${n}`);
});

/** The number of messages that the service sends to Slack at the same time. */
const MAX_CONCURRENT = 5;
const ROUNDS = [1, 2, 3, 4, 5];

async function decideAtOnce(isMixed: boolean) {
  const { id: approval_id } = await ask(home);
  const { board_id, slack_user, owner } = home;
  const [approve, reject] = buttonsOf(slack.messagesTo(slack_user).at(-1));
  const press = (button: object) => {
    const { payload } = slack.press(slack_user, button);
    return world.call("POST", "/api/v1/slack/interactions", slack.sign({ payload }, world.now()));
  };
  const [person] = await world.db.select().from(users).where(eq(users.auth_subject, owner.subject));
  const token = signDecision(world.context(), { approval_id, board_id, user_id: person!.id });
  const path = `/api/v1/boards/${board_id}/approvals/${approval_id}`;
  const answers = await Promise.all([
    press(approve),
    press(isMixed ? reject : approve),
    press(approve),
    world.call("POST", "/api/v1/decisions", { body: { token, status: isMixed ? "rejected" : "approved" } }),
    // In the console, a person may also change a decision, which is another effect.
    ...(isMixed ? [] : [world.call("PATCH", path, { token: owner.token, body: { status: "approved" } })]),
  ]);
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  return (await listApprovalEvents(world, board_id)).filter(({ event_type }) => event_type === "approval.resolved");
}

test.each(ROUNDS)(
  "when equal decisions are made at the same time in Slack, in a mail and in the console, only one has an effect (round %i)",
  async () => {
    expect(await decideAtOnce(false)).toHaveLength(1);
  },
);

test.each(ROUNDS)(
  "when different decisions are made at the same time in Slack and in a mail, only one has an effect (round %i)",
  async () => {
    expect(await decideAtOnce(true)).toHaveLength(1);
  },
);

/** More than `MAX_CONCURRENT`, so that some messages are still waiting when the right is lost. */
const FOLLOWERS = 9;

test.each([1, 2, 3])(
  "a person who is removed from the organization while messages are being sent gets none of the later messages (round %i)",
  async () => {
    const { organization_id, board_id, slack_user } = home;
    const followers = Array.from({ length: FOLLOWERS }, (_, n) => `U${n}${slack_user}`);
    for (const name of followers) {
      const person = await world.member(name, home, "member", { write: true });
      await link(person, name);
      await world.call("PUT", `/api/v1/boards/${board_id}/follow`, { token: person.token });
    }
    const hasEnded = Promise.withResolvers<void>();
    slack.whilePosting(async () => {
      const isFollower = and(eq(organization_members.organization_id, organization_id), eq(organization_members.role, "member"));
      await world.db.delete(organization_members).where(isFollower);
      hasEnded.resolve();
    });
    await ask(home);
    await hasEnded.promise;
    const told = followers.filter((name) => slack.messagesTo(name).length > 0);
    expect(told.length).toBeLessThanOrEqual(MAX_CONCURRENT);
    await ask(home);
    expect(followers.flatMap((name) => slack.messagesTo(name))).toHaveLength(told.length);
    expect(slack.messagesTo(slack_user).length).toBe(2);
  },
);
