import { approvals } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { addTasks, approvalsPath } from "../support/approval.ts";
import { setupWorld } from "../support/fixtures.ts";

const world = await setupWorld();
const home = await world.tenant("home");

const create = (body: unknown) => world.call("POST", approvalsPath(home.board_id), { token: home.owner.token, body });
const good = { action_type: "Do", description: "Why" };
const problem = async (body: object) => {
  const { status, body: answer } = await create(body);
  return [status, answer.detail?.map(({ type, loc, msg }: Record<string, unknown>) => [type, loc, msg])];
};

describe("the reason of an approval request", () => {
  const storedPayload = async (body: object) => {
    const answer = await create({ action_type: "Do", ...body });
    expect(answer.status, answer.text).toBe(200);
    expect(answer.body.description).toBe(answer.body.payload.reason);
    return answer.body.payload;
  };

  test.each([
    ["the description", { description: "one" }, "one"],
    ["the lead's reasoning", { lead_reasoning: "two" }, "two"],
    ["the payload's reason", { payload: { reason: "three" } }, "three"],
    ["the reason of the payload's decision", { payload: { decision: { reason: "four" } } }, "four"],
    [
      "the first source when several are sent",
      { description: "one", lead_reasoning: "two", payload: { decision: { reason: "four" } } },
      "one",
    ],
    ["the next source when the first is blank", { description: " \n", lead_reasoning: "two", payload: { reason: " " } }, "two"],
    [
      "the payload's decision when all other sources are blank",
      { description: null, payload: { reason: "", decision: { reason: "4" } } },
      "4",
    ],
    ["the description when the payload's reason is not text", { description: "one", payload: { reason: 5 } }, "one"],
  ])("the reason comes from %s", async (_what, body, reason) => {
    const { payload = {} } = body as { payload?: object };
    expect(await storedPayload(body)).toEqual({ ...payload, reason });
  });

  test("a description that differs from the reason in the payload is kept in the payload", async () => {
    const payload = { reason: " three " };
    expect(await storedPayload({ description: "one", payload })).toEqual({ ...payload, description: "one" });
    const described = { reason: "three", description: "Sent" };
    expect(await storedPayload({ description: "one", payload: described })).toEqual(described);
    expect(await storedPayload({ description: "three", payload: { reason: "three" } })).toEqual({ reason: "three" });
  });

  test.each([
    ["no source at all", {}],
    ["only blank sources", { description: " ", lead_reasoning: "\t", payload: { reason: "", decision: { reason: "  " } } }],
    ["only null sources", { description: null, lead_reasoning: null, payload: null }],
    ["values that are not text", { payload: { reason: 5, decision: { reason: ["why"] } } }],
    ["a decision that is not an object", { payload: { decision: "why" } }],
    ["a null decision", { payload: { decision: null } }],
    ["other field names", { reason: "why", payload: { description: "why" } }],
  ])("a request without a reason is refused: %s", async (_what, body) => {
    expect(await problem({ action_type: "Do", ...body })).toEqual([
      422,
      [["value_error", ["body"], "Value error, lead reasoning is required"]],
    ]);
  });

  test("a reason may have 100,000 characters and no more", async () => {
    const long = "x".repeat(100_000);
    expect((await create({ ...good, description: long })).body.description).toBe(long);
    for (const field of ["description", "lead_reasoning"])
      expect(await problem({ ...good, [field]: `${long}x` })).toEqual([
        422,
        [["string_too_long", ["body", field], "String should have at most 100000 characters"]],
      ]);
  });
});

describe("the tasks of an approval request", () => {
  const linked = async (body: object) => {
    const answer = await create({ ...good, ...body });
    expect(answer.status, answer.text).toBe(200);
    return answer.body.task_ids;
  };
  const addNumberedTasks = async (count: number) =>
    addTasks(
      world,
      home.board_id,
      Array.from({ length: count }, (_, number) => `T${number}`),
    );

  test("tasks named in the body come first, then tasks in the payload's lists, then the payload's single ids", async () => {
    const ids = (await addNumberedTasks(8)) as [string, string, string, string, string, string, string, string];
    const [a, b, c, d, e, f, g, h] = ids;
    const payload = { taskID: h, taskId: g, task_id: f, taskIDs: [e], taskIds: [d], task_ids: [c] };
    expect(await linked({ task_ids: [b], task_id: a, payload })).toEqual(ids);
  });

  test("a task named several times is linked once, ignoring the case of letters", async () => {
    const [a, b, c] = (await addNumberedTasks(3)) as [string, string, string];
    const payload = { task_ids: [b.toUpperCase(), c.toUpperCase(), a], task_id: c };
    expect(await linked({ task_id: a.toUpperCase(), task_ids: [b, a, b], payload })).toEqual([a, b, c]);
  });

  test("payload values that are not ids are ignored", async () => {
    const [a] = (await addNumberedTasks(1)) as [string];
    const noise = ["", "task-1", 5, null, {}, [a], `${a}x`, a.slice(1), ` ${a} `];
    expect(
      await linked({ payload: { task_ids: [...noise, a], taskIds: null, taskIDs: a, task_id: "T-1", taskId: 7, taskID: {} } }),
    ).toEqual([a]);
    const payload = { task_ids: { 0: a }, taskIDs: "x", task_id: [a], taskId: null, other: [a] };
    const answer = await create({ ...good, payload });
    expect([answer.body.task_ids, answer.body.payload]).toEqual([[], { ...payload, reason: "Why" }]);
  });

  test("a task named in the payload must exist", async () => {
    const gone = crypto.randomUUID();
    const answer = await create({ ...good, payload: { taskId: gone.toUpperCase() } });
    expect([answer.status, answer.body.detail.missing_task_ids]).toEqual([404, [gone]]);
  });

  test("task ids in the body must be UUIDs", async () => {
    const bad = "Input should be a valid UUID";
    expect(await problem({ ...good, task_id: "T-1", task_ids: ["", 5] })).toEqual([
      422,
      [
        ["uuid_parsing", ["body", "task_id"], bad],
        ["uuid_parsing", ["body", "task_ids", 0], bad],
        ["string_type", ["body", "task_ids", 1], "Input should be a valid string"],
      ],
    ]);
    expect(await problem({ ...good, task_ids: "x" })).toMatchObject([422, [{ 0: "list_type", 1: ["body", "task_ids"] }]]);
    expect(await linked({ task_id: null, task_ids: null })).toEqual([]);
  });

  test("at most 200 tasks are linked, including the tasks in the payload", async () => {
    const ids = await addNumberedTasks(200);
    expect(await linked({ task_ids: ids, payload: { task_ids: ids } })).toEqual(ids);
    const more = crypto.randomUUID();
    expect(await problem({ ...good, task_ids: [...ids, more] })).toEqual([
      422,
      [["too_long", ["body", "task_ids"], "List should have at most 200 items"]],
    ]);
    expect(await problem({ ...good, task_ids: ids, payload: { task_id: more } })).toEqual([
      422,
      [["value_error", ["body"], "Value error, at most 200 tasks can be linked"]],
    ]);
  });
});

describe("the fields of an approval request", () => {
  test.each<[string, object, unknown[]]>([
    ["a missing action", { action_type: undefined }, ["missing", ["body", "action_type"]]],
    ["a blank action", { action_type: "  " }, ["string_too_short", ["body", "action_type"]]],
    ["an action over 200 characters", { action_type: "x".repeat(201) }, ["string_too_long", ["body", "action_type"]]],
    ["an action that is not text", { action_type: 5 }, ["string_type", ["body", "action_type"]]],
    ["a description that is not text", { description: 5 }, ["string_type", ["body", "description"]]],
    ["confidence above 100", { confidence: 100.01 }, ["less_than_equal", ["body", "confidence"]]],
    ["confidence below 0", { confidence: -0.01 }, ["greater_than_equal", ["body", "confidence"]]],
    ["confidence as text", { confidence: "90" }, ["float_type", ["body", "confidence"]]],
    ["a boolean confidence", { confidence: true }, ["float_type", ["body", "confidence"]]],
    ["a payload that is a list", { payload: [] }, ["dict_type", ["body", "payload"]]],
    ["a payload that is a text", { payload: "{}" }, ["dict_type", ["body", "payload"]]],
    ["scores that are a list", { rubric_scores: [1] }, ["dict_type", ["body", "rubric_scores"]]],
    ["a fractional score", { rubric_scores: { a: 1.5 } }, ["int_type", ["body", "rubric_scores", "a"]]],
    ["a score as text", { rubric_scores: { a: "1" } }, ["int_type", ["body", "rubric_scores", "a"]]],
    ["a null score", { rubric_scores: { a: null } }, ["int_type", ["body", "rubric_scores", "a"]]],
    ["an agent id that is not a UUID", { agent_id: "me" }, ["uuid_parsing", ["body", "agent_id"]]],
  ])("%s is refused", async (_what, body, [type, loc]) => {
    expect(await problem({ ...good, ...body })).toEqual([422, [[type, loc, expect.any(String)]]]);
  });

  test("a payload or scores of more than 64 KB are refused", async () => {
    // {"text":"…"} has eleven bytes in addition to the text.
    const payload = { text: "ü".repeat(32_762) };
    expect(Buffer.byteLength(JSON.stringify(payload))).toBe(65_535);
    expect((await create({ ...good, payload })).status).toBe(200);
    const scores = Object.fromEntries(Array.from({ length: 6_000 }, (_, number) => [`criterion ${number}`, number]));
    const text = "Value error, Object should have at most 65536 bytes";
    expect(await problem({ ...good, payload: { text: `${payload.text}ü` }, rubric_scores: scores })).toEqual([
      422,
      [
        ["value_error", ["body", "payload"], text],
        ["value_error", ["body", "rubric_scores"], text],
      ],
    ]);
  });

  test("confidence keeps fractions and both ends of its range", async () => {
    for (const confidence of [0, 100, 0.1, 99.999, 1e-7, 33.333333333333336])
      expect((await create({ ...good, confidence })).body.confidence).toBe(confidence);
    const { id } = (await create({ ...good, confidence: 0 })).body;
    expect((await world.db.select().from(approvals).where(eq(approvals.id, id)))[0]!.confidence).toBe(0);
  });

  test("scores may be any safe integer, and may be empty", async () => {
    const rubric_scores = { low: -5, zero: 0, big: Number.MAX_SAFE_INTEGER, ' odd "key"': 1 };
    expect((await create({ ...good, rubric_scores })).body.rubric_scores).toEqual(rubric_scores);
    expect((await create({ ...good, rubric_scores: {} })).body.rubric_scores).toEqual({});
  });

  test("text that the database cannot store is refused in every field", async () => {
    for (const body of [
      { action_type: "a\0" },
      { payload: { deep: ["a\0"] } },
      { payload: { "a\0": 1 } },
      { payload: { half: "\ud800" } },
      { rubric_scores: { "a\0": 1 } },
    ])
      expect(await problem({ ...good, ...body })).toMatchObject([422, [{ 0: "value_error" }]]);
  });

  test("a payload of any JSON is returned unchanged", async () => {
    const payload = {
      list: [1, "2", null, true, { a: [] }],
      nested: { reason: "x" },
      number: 1e21,
      text: '\u2028 "q" ü 😀',
      reason: "r",
    };
    expect((await create({ action_type: "Do", payload })).body.payload).toEqual(payload);
  });

  test("the keys of a payload and of scores keep their order", async () => {
    const payload = { reason: "r", to: { zip: 1, a: 2 }, amount: 5 };
    const rubric_scores = { overall: 1, cost: 2, a: 3 };
    const { body } = await create({ action_type: "Do", payload, rubric_scores });
    expect(JSON.stringify([body.payload, body.rubric_scores])).toBe(JSON.stringify([payload, rubric_scores]));
  });
});
