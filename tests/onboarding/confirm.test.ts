import type { AuditEvent } from "@board/core/audit/audit";
import { agents, board_onboarding_sessions, boards, users } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { beforeEach, expect, test } from "vitest";
import { COMPLETION, GOAL, createOnboarding, QUESTION } from "../support/onboarding.ts";
import { renew, setupWorld } from "../support/fixtures.ts";

const world = await setupWorld();
const home = await world.tenant("home");

const board = renew(() => createOnboarding(world, home));
beforeEach(() => board.start());

const draft = (more: object) => board.reply({ ...COMPLETION, ...more });
const leadOf = async (board_id = board.board_id) =>
  (await world.db.select().from(agents).where(eq(agents.board_id, board_id)))[0];
const storedBoard = async () => (await world.db.select().from(boards).where(eq(boards.id, board.board_id)))[0]!;

test("the board gets the goal that was confirmed, and the session ends", async () => {
  await draft({ objective: "The draft's own" });
  const confirmed = await board.confirm({ ...GOAL, target_date: "2030-06-30" });
  expect(confirmed.body).toMatchObject({
    id: board.board_id,
    ...GOAL,
    target_date: "2030-06-30T00:00:00.000Z",
    goal_confirmed: true,
    goal_source: "ai_generated",
    require_approval_for_done: true,
  });
  const read = await world.call("GET", `/api/v1/boards/${board.board_id}`, { token: home.owner.token });
  expect(read.body).toEqual(confirmed.body);
  expect((await board.read()).body).toMatchObject({ status: "confirmed", draft_goal: { objective: "The draft's own" } });
});

test("a goal can be confirmed without a draft", async () => {
  await board.reply(QUESTION);
  expect((await board.confirm(GOAL)).body).toMatchObject({ goal_confirmed: true, require_approval_for_done: true });
  expect(await leadOf()).toMatchObject({ name: "Lead Agent" });
});

test("a confirmation replaces the whole goal, and clears fields that are left out", async () => {
  await board.confirm({ ...GOAL, target_date: "2030-06-30" });
  expect((await board.confirm({ board_type: "ops" })).body).toMatchObject({
    board_type: "ops",
    objective: null,
    success_metrics: null,
    target_date: null,
    goal_confirmed: true,
  });
});

test("confirming the same goal again changes nothing on the board", async () => {
  const first = (await board.confirm(GOAL)).body;
  expect((await board.confirm(GOAL)).body).toEqual(first);
  const audit = async (action: string) =>
    (await world.call("GET", `/api/v1/audit?action=${action}`, { token: home.owner.token })).body.items;
  const ofBoard = (await audit("board.updated")).filter(({ target }: AuditEvent) => target.id === board.board_id);
  expect(ofBoard).toMatchObject([{ actor: { type: "user" }, changes: { goal_confirmed: [false, true] } }]);
  expect((await audit("agent.created"))[0]).toMatchObject({ target: { id: (await leadOf())!.id, name: "Lead Agent" } });
});

const INCOMPLETE = {
  type: "value_error",
  loc: ["body"],
  msg: "Value error, Confirmed goal boards require objective and success_metrics",
};
test.each<[object, object]>([
  [{}, { type: "missing", loc: ["body", "board_type"] }],
  [
    { ...GOAL, board_type: "party" },
    { type: "literal_error", loc: ["body", "board_type"] },
  ],
  [{ board_type: "goal" }, INCOMPLETE],
  [{ ...GOAL, objective: " " }, INCOMPLETE],
  [{ ...GOAL, success_metrics: {} }, INCOMPLETE],
  [
    { ...GOAL, success_metrics: ["ten"] },
    { type: "dict_type", loc: ["body", "success_metrics"] },
  ],
  [
    { ...GOAL, target_date: "soon" },
    { type: "datetime_parsing", loc: ["body", "target_date"] },
  ],
])("the goal %j is refused", async (body, problem) => {
  const before = await storedBoard();
  const refused = await board.confirm(body);
  expect([refused.status, refused.body.detail]).toMatchObject([422, [problem]]);
  expect(await storedBoard()).toEqual(before);
  expect((await board.read()).body.status).toBe("active");
});

test.each<[boolean, object | null]>([
  [false, { autonomy_level: "autonomous" }],
  [false, { identity_profile: { autonomy_level: "autonomous" } }],
  [false, { identity_profile: { autonomy: "fully-autonomous" } }],
  [false, { identity_profile: { mode: " Full-Autonomy " } }],
  [false, { identity_profile: { mode: "Runs fully by itself, autonomously" } }],
  [false, { autonomy_level: "balanced", identity_profile: { autonomy: "fully autonomous" } }],
  [true, { autonomy_level: "balanced" }],
  [true, { autonomy_level: "ask_first" }],
  [true, { identity_profile: { autonomy: "semi-autonomous" } }],
  [true, { identity_profile: { autonomy: "fully supervised" } }],
  [true, { identity_profile: { style: "fully autonomous" } }],
  [true, { custom_instructions: "fully autonomous" }],
  [true, {}],
  [true, null],
])("require_approval_for_done becomes %s when the draft describes the lead as %j", async (required, lead_agent) => {
  await world.db.update(boards).set({ require_approval_for_done: !required }).where(eq(boards.id, board.board_id));
  await draft({ lead_agent });
  expect((await board.confirm(GOAL)).body.require_approval_for_done).toBe(required);
});

test("the profile of the confirming user gets what was learned in the dialogue, and keeps its other fields", async () => {
  const learner = await world.member("learner", home, "member", { write: true });
  await world.db.update(users).set({ pronouns: "they/them", notes: "Old" }).where(eq(users.auth_subject, "learner"));
  await draft({
    user_profile: { preferred_name: " Sam ", timezone: "Europe/Berlin", notes: "New", context: null, pronouns: " " },
  });
  const confirm = { token: learner.token, body: GOAL };
  expect((await world.call("POST", `${board.path}/confirm`, confirm)).status).toBe(200);
  expect((await world.call("GET", "/api/v1/users/me", { token: learner.token })).body).toMatchObject({
    preferred_name: "Sam",
    pronouns: "they/them",
    timezone: "Europe/Berlin",
    notes: "New",
    context: null,
  });
  expect((await world.call("GET", "/api/v1/users/me", { token: home.owner.token })).body.preferred_name).toBeNull();
});

test("the lead is created with the draft's name, profile and style", async () => {
  await draft({
    lead_agent: {
      name: " Ada ",
      identity_profile: { emoji: ":owl:", languages: ["en", "de"], communication_style: " " },
      autonomy_level: "ask_first",
      verbosity: "concise",
      output_format: "bullets",
      update_cadence: "daily",
      custom_instructions: "Never on Sundays",
    },
  });
  await board.confirm(GOAL);
  expect(await leadOf()).toMatchObject({
    name: "Ada",
    status: "provisioning",
    is_board_lead: true,
    gateway_id: home.gateway_id,
    openclaw_session_id: `agent:lead-${board.board_id}:main`,
    agent_token_hash: expect.stringMatching(/^pbkdf2_sha256\$/),
    agent_token_lookup: expect.any(String),
    lifecycle_generation: 1,
    identity_profile: {
      role: "Board Lead",
      communication_style: "direct, concise, practical",
      emoji: ":owl:",
      languages: "en, de",
      autonomy_level: "ask_first",
      verbosity: "concise",
      output_format: "bullets",
      update_cadence: "daily",
      custom_instructions: "Never on Sundays",
    },
  });
});

test("a lead without a description gets the default values, and does not count towards the limit of agents", async () => {
  await world.db.update(boards).set({ max_agents: 0 }).where(eq(boards.id, board.board_id));
  await draft({});
  await board.confirm(GOAL);
  expect(await leadOf()).toMatchObject({
    name: "Lead Agent",
    identity_profile: { role: "Board Lead", communication_style: "direct, concise, practical", emoji: ":gear:" },
  });
});

test("an existing lead stays unchanged, whatever the draft says", async () => {
  await board.confirm(GOAL);
  const before = await leadOf();
  await world.db.delete(board_onboarding_sessions).where(eq(board_onboarding_sessions.board_id, board.board_id));
  await board.start();
  await draft({ lead_agent: { name: "Another", verbosity: "detailed" } });
  expect((await board.confirm(GOAL)).status).toBe(200);
  expect(await leadOf()).toEqual(before);
});

test("a name that another agent of the board has is a conflict, and nothing is confirmed", async () => {
  const { token } = home.owner;
  await world.call("POST", "/api/v1/agents", { token, body: { name: "Ada", board_id: board.board_id } });
  await draft({ lead_agent: { name: "ADA" }, user_profile: { preferred_name: "Nobody" } });
  const before = await storedBoard();
  const refused = await board.confirm(GOAL);
  expect([refused.status, refused.body]).toEqual([409, { detail: "An agent with this name already exists on this board." }]);
  expect(await storedBoard()).toEqual(before);
  expect((await board.read()).body.status).toBe("completed");
  expect((await world.call("GET", "/api/v1/users/me", { token })).body.preferred_name).not.toBe("Nobody");
});

test("a confirmation that creates a lead takes 16 statements", async () => {
  await draft({ user_profile: { preferred_name: "Sam" }, lead_agent: { name: "Ada" } });
  expect(await world.countStatements(() => board.confirm(GOAL))).toBe(16);
});
