/** Tests concurrent requests, which need a server with several connections. */
import { agents, board_onboarding_sessions } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import type { Answer } from "../support/http.ts";
import { COMPLETION, GOAL, createOnboarding, QUESTION } from "../support/onboarding.ts";
import { openServerWorld } from "../support/postgres-world.ts";
import { renew, setup } from "../support/fixtures.ts";

const { world } = await setup(openServerWorld());
const home = await world.tenant("home");

const board = renew(() => createOnboarding(world, home));

const TIMES = 12;
const atOnce = (act: (n: number) => Promise<Answer>) => Promise.all(Array.from({ length: TIMES }, (_, n) => act(n)));
const statuses = (answers: Answer[]) => [...new Set(answers.map(({ status }) => status))];
const sessions = () =>
  world.db.select().from(board_onboarding_sessions).where(eq(board_onboarding_sessions.board_id, board.board_id));

test("concurrent starts create one session", async () => {
  const answers = await atOnce(() => board.start());
  expect(statuses(answers)).toEqual([200]);
  const [session, ...others] = await sessions();
  expect(others).toEqual([]);
  expect(new Set(answers.map(({ body }) => body.id))).toEqual(new Set([session!.id]));
});

test("concurrent starts while the agent completes leave at most one active session", async () => {
  await board.start();
  const answers = await atOnce((n) => (n % 4 === 0 ? board.reply(COMPLETION) : board.start()));
  expect(statuses(answers)).toEqual([200]);
  expect((await sessions()).filter(({ status }) => status === "active").length).toBeLessThanOrEqual(1);
});

test("concurrent answers and questions are all stored", async () => {
  await board.start();
  const answers = await atOnce((n) => (n % 2 === 0 ? board.answer({ answer: `answer ${n}` }) : board.reply(QUESTION)));
  expect(statuses(answers)).toEqual([200]);
  const [session] = await sessions();
  expect(session!.messages).toHaveLength(1 + TIMES);
  expect(session!.messages.filter(({ content }) => /^answer \d+$/.test(content))).toHaveLength(TIMES / 2);
});

test("concurrent confirmations create one lead", async () => {
  await board.start();
  await board.reply({ ...COMPLETION, lead_agent: { name: "Ada" } });
  const answers = await atOnce(() => board.confirm(GOAL));
  expect(statuses(answers)).toEqual([200]);
  expect(await world.db.select({ name: agents.name }).from(agents).where(eq(agents.board_id, board.board_id))).toEqual([
    { name: "Ada" },
  ]);
});

test("a lead that is created during a confirmation either becomes the board's only lead or is refused", async () => {
  await board.start();
  const body = { name: "By hand", board_id: board.board_id, is_board_lead: true };
  const create = () => world.call("POST", "/api/v1/agents", { token: home.owner.token, body });
  const [confirmed, ...created] = await Promise.all([board.confirm(GOAL), create(), create()]);
  expect(confirmed.status).toBe(200);
  expect(created.every(({ status }) => status === 200 || status === 409)).toBe(true);
  expect(await world.db.select().from(agents).where(eq(agents.board_id, board.board_id))).toHaveLength(1);
});
