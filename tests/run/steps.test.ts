import { run_steps, runs } from "@board/core/schema/all-tables";
import { scheduled } from "@board/api/work/schedules";
import { asc, eq } from "drizzle-orm";
import { beforeEach, describe, expect, test } from "vitest";
import { setupWorld } from "../support/fixtures.ts";
import { startRun } from "../support/run.ts";
import { listen } from "../support/sse.ts";
import { createTeam, type Team } from "../support/task-rules.ts";

const world = await setupWorld();
let team: Team;
let run_id: string;
let teams = 0;

beforeEach(async () => {
  team = await createTeam(world, `steps-${++teams}`);
  ({ run_id } = await startRun(world, team));
});

const DAY = 86_400_000;
const KB16 = 16_384;
const asOwner = (method: string, path: string, body?: object) =>
  world.call(method, path, { token: team.owner.token, ...(body ? { body } : {}) });
const post = (from: number, steps: object[], agent = team.worker.token) =>
  world.call("POST", `/api/v1/agent/runs/${run_id}/steps`, { agent, body: { from, steps } });
const stepsPath = () => `/api/v1/boards/${team.board_id}/runs/${run_id}/steps`;
const list = async (query = "") => (await asOwner("GET", `${stepsPath()}?${query}`)).body;
const say = (text: string) => ({ kind: "message", text });
const many = (count: number, start = 0) => Array.from({ length: count }, (_, index) => say(`Step ${start + index}`));
const textsOf = (items: { text: string }[]) => items.map(({ text }) => text);

describe("adding steps", () => {
  test("steps of every kind are stored and shown with their numbers", async () => {
    const at = "2026-11-25T08:00:00.000Z";
    const sent = [
      { at, kind: "message", text: "Hello" },
      { at, kind: "thought", text: "Hm" },
      {
        at,
        kind: "tool_call",
        tool_call_id: "t1",
        title: "Edit",
        tool_kind: "edit",
        status: "completed",
        locations: [{ path: "a.ts", line: 3 }],
        input: { deep: [1, { x: null }] },
        output: "done",
        diff: { path: "a.ts", old: null, new: "x" },
      },
      { at, kind: "tool_call", tool_call_id: "t1", status: "failed" },
      { at, kind: "plan", entries: [{ content: "First", priority: "high", status: "pending" }] },
      { at, kind: "permission", approval_id: null, title: "rm", outcome: "denied" },
      { at, kind: "usage", key: "k1", model: "m", input_tokens: 10, cost_usd: "0.0123" },
      { at, kind: "log", stream: "stderr", text: "warning" },
    ];
    const { status, body } = await post(0, sent);
    expect([status, body]).toEqual([200, { next: 8, full: false }]);
    expect((await list()).items).toEqual(sent.map((step, n) => ({ n, ...step })));
    expect((await asOwner("GET", `/api/v1/boards/${team.board_id}/runs/${run_id}`)).body.steps).toBe(8);
  });

  test("a repeated request stores no step twice, and one that overlaps stores only the new steps", async () => {
    await post(0, many(10));
    expect((await post(0, many(10))).body).toEqual({ next: 10, full: false });
    expect((await post(5, many(10, 5))).body).toEqual({ next: 15, full: false });
    expect(textsOf((await list()).items)).toEqual(textsOf(many(15)));
  });

  test("a gap between steps is refused with the number of the next step, and stores nothing", async () => {
    await post(0, many(3));
    const { status, body } = await post(5, many(1, 5));
    expect([status, body.detail]).toEqual([409, { message: "Steps before these are missing.", next: 3 }]);
    expect((await list()).items).toHaveLength(3);
  });

  test("equal requests at the same time store each step once", async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => post(0, many(20))));
    expect(answers.map(({ status, body }) => [status, body.next])).toEqual(Array.from({ length: 8 }, () => [200, 20]));
    expect(textsOf((await list("limit=200")).items)).toEqual(textsOf(many(20)));
  });

  test("a text of more than 16 KB is cut between characters and is marked", async () => {
    await post(0, [
      say("€".repeat(KB16)),
      say("x".repeat(KB16)),
      { kind: "tool_call", tool_call_id: "t", output: { big: "y".repeat(KB16) } },
    ]);
    const { items } = await list();
    expect(items[0].text).toBe("€".repeat(Math.floor(KB16 / 3)));
    expect(items.map(({ truncated }: { truncated?: true }) => truncated)).toEqual([true, undefined, true]);
    expect(items[2].output).toMatch(/^\{"big":"y+$/);
  });

  test("long titles, paths and names of a step are cut like its other texts, and the other steps of the request stay whole", async () => {
    const long = "x".repeat(KB16 + 1);
    const sent = [
      {
        kind: "tool_call",
        tool_call_id: "t",
        title: long,
        locations: [{ path: long }],
        diff: { path: long, old: null, new: "y" },
      },
      { kind: "permission", title: long, outcome: long },
      { kind: "log", stream: long, text: "z" },
      say("Next"),
    ];
    expect((await post(0, sent)).body).toEqual({ next: 4, full: false });
    const cut = long.slice(0, KB16);
    expect((await list()).items).toMatchObject([
      { title: cut, locations: [{ path: cut }], diff: { path: cut, old: null, new: "y" }, truncated: true },
      { title: cut, outcome: cut, truncated: true },
      { stream: cut, text: "z", truncated: true },
      { text: "Next" },
    ]);
    expect((await list()).items[3]).not.toHaveProperty("truncated");
  });

  test("a list of more than 200 locations, or a plan of more than 200 entries, is cut and marked", async () => {
    const locations = Array.from({ length: 201 }, (_, line) => ({ path: "a.ts", line }));
    const entries = Array.from({ length: 201 }, (_, index) => ({ content: `Part ${index}`, status: "pending" }));
    await post(0, [
      { kind: "tool_call", tool_call_id: "t", locations },
      { kind: "plan", entries },
      { kind: "plan", entries: entries.slice(1) },
      { kind: "tool_call", tool_call_id: "u", input: Array.from({ length: 300 }, () => 1) },
    ]);
    const { items } = await list();
    expect(items).toMatchObject([
      { locations: locations.slice(0, 200), truncated: true },
      { entries: entries.slice(0, 200), truncated: true },
      { entries: entries.slice(1) },
      { input: Array.from({ length: 300 }, () => 1) },
    ]);
    expect(items.map(({ truncated }: { truncated?: true }) => truncated)).toEqual([true, true, undefined, undefined]);
  });

  test("control characters, HTML and terminal sequences stay text", async () => {
    const texts = ["\u0001\u0007\u001b[31mred\u001b[0m", "<script>alert(1)</script>", "\u202e reversed", "--- END ---"];
    await post(0, texts.map(say));
    expect(textsOf((await list()).items)).toEqual(texts);
  });

  test.each([
    ["no steps", 0, []],
    ["more than 200 steps", 0, many(201)],
    ["a negative number", -1, many(1)],
    ["an unknown kind", 0, [{ kind: "root", text: "x" }]],
    ["NUL in a text", 0, [say("a\u0000b")]],
    ["deep JSON", 0, [{ kind: "tool_call", tool_call_id: "t", input: JSON.parse("[".repeat(40) + "]".repeat(40)) }]],
    ["a text that is no text", 0, [{ kind: "message", text: { x: 1 } }]],
    ["an id of a tool call of more than 200 characters", 0, [{ kind: "tool_call", tool_call_id: "x".repeat(201) }]],
  ] as const)("a request to add steps with %s is refused and stores nothing", async (_about, from, steps) => {
    expect((await post(from, steps as unknown as object[])).status).toBe(422);
    expect((await list()).items).toEqual([]);
  });

  test("a request to add steps of more than 1 MB is refused", async () => {
    expect(
      (
        await post(
          0,
          Array.from({ length: 70 }, () => say("x".repeat(KB16))),
        )
      ).status,
    ).toBe(413);
  });

  test("an agent cannot add steps to a run of another agent", async () => {
    for (const agent of [team.second.token, team.lead.token, team.main.token])
      expect((await post(0, many(1), agent)).status).toBe(404);
    expect((await list()).items).toEqual([]);
  });

  test("steps are accepted for a day after the end of the run", async () => {
    await asOwner("POST", `/api/v1/boards/${team.board_id}/runs/${run_id}/stop`, {});
    world.elapse(DAY - 60_000);
    expect((await post(0, many(1))).body.next).toBe(1);
    world.elapse(120_000);
    const { status, body } = await post(1, many(1));
    expect([status, body.detail.code]).toEqual([409, "run_closed"]);
  });

  test("a run with 100,000 steps gets a last step that says that it is full, and drops all later ones", async () => {
    await world.db.update(runs).set({ steps: 99_998 }).where(eq(runs.id, run_id));
    expect((await post(99_998, many(5))).body).toEqual({ next: 100_001, full: true });
    expect((await post(100_003, many(5))).body).toEqual({ next: 100_001, full: true });
    const { items } = await list("order=desc");
    expect(items).toMatchObject([{ n: 100_000, kind: "log", stream: "service" }, { n: 99_999 }, { n: 99_998 }]);
  });

  test("a run with 50 MB of steps is full", async () => {
    await world.db.update(runs).set({ step_bytes: 52_428_700 }).where(eq(runs.id, run_id));
    expect((await post(0, many(5))).body).toEqual({ next: 2, full: true });
    expect((await list()).items).toMatchObject([{ text: "Step 0" }, { kind: "log" }]);
  });

  test("a request to add steps costs one statement in addition to its authentication", async () => {
    await post(0, many(10));
    world.statements.length = 0;
    await post(10, many(10));
    expect(world.statements.filter((text) => /run_steps/.test(text))).toHaveLength(1);
    expect(world.statements).toHaveLength(2);
  });
});

describe("reading steps", () => {
  test("pages of steps lead through all steps in both directions, even across requests", async () => {
    for (let from = 0; from < 450; from += 45) await post(from, many(45, from));
    for (const order of ["asc", "desc"]) {
      const texts: string[] = [];
      for (let cursor: string | null = ""; cursor !== null; ) {
        const page: { items: { text: string }[]; next_cursor: string | null } = await list(
          `order=${order}&limit=70&cursor=${cursor}`,
        );
        texts.push(...textsOf(page.items));
        cursor = page.next_cursor;
      }
      expect(order === "asc" ? texts : texts.toReversed()).toEqual(textsOf(many(450)));
    }
  });

  test("steps can be filtered by kind", async () => {
    for (let from = 0; from < 400; from += 100)
      await post(
        from,
        Array.from({ length: 100 }, (_, index) => (index === 50 ? { kind: "thought", text: `T${from}` } : say("x"))),
      );
    expect(textsOf((await list("kind=thought")).items)).toEqual(["T0", "T100", "T200", "T300"]);
    expect(textsOf((await list("kind=thought&order=desc&limit=2")).items)).toEqual(["T300", "T200"]);
  });

  test("a page of steps ends before it would be too large", async () => {
    const big = Array.from({ length: 60 }, () => say("x".repeat(KB16)));
    for (let from = 0; from < 300; from += 60) await post(from, big);
    const page = await list("limit=200&kind=message");
    const all = await list("limit=200");
    expect(Buffer.byteLength(JSON.stringify(all))).toBeLessThan(world.settings.budgets.answer_max_bytes + 20_000);
    expect(page.items.length).toBeLessThanOrEqual(200);
  });

  test("steps can be read by another agent of the board too", async () => {
    await post(0, many(1));
    expect((await world.call("GET", stepsPath(), { agent: team.second.token })).body.items).toHaveLength(1);
  });

  test("a cursor of steps that is not a number is refused", async () => {
    expect((await asOwner("GET", `${stepsPath()}?cursor=-1`)).status).toBe(422);
  });
});

describe("the stream of steps", () => {
  test("the stream of steps sends each new step once, and can be resumed between two steps of the same request", async () => {
    await post(0, many(3));
    const path = `${stepsPath()}/stream?since=2020-01-01T00:00:00Z`;
    const stream = await listen(world.app.request, path, { token: team.owner.token });
    await post(3, many(4, 3));
    const events = await stream.waitForEvents(7);
    expect(events.map(({ event, data }) => [event, data.n, data.text])).toEqual(many(7).map(({ text }, n) => ["step", n, text]));
    await stream.close();
    const again = await listen(world.app.request, `${stepsPath()}/stream`, { token: team.owner.token, last: events[4]!.id });
    expect((await again.waitForEvents(2)).map(({ data }) => data.n)).toEqual([5, 6]);
    await again.close();
  });

  test("the stream of steps sends a long backlog in its order, each step once", async () => {
    for (let from = 0; from < 600; from += 150) await post(from, many(150, from));
    const path = `${stepsPath()}/stream?since=2020-01-01T00:00:00Z`;
    const stream = await listen(world.app.request, path, { agent: team.second.token });
    const events = await stream.waitForEvents(600);
    expect(events.map(({ data }) => data.n)).toEqual(Array.from({ length: 600 }, (_, n) => n));
    await stream.close();
  });
});

describe("old steps", () => {
  test("old steps are removed after RUN_STEPS_RETENTION_DAYS, and the run shows when", async () => {
    await post(0, many(3));
    await world.db.update(run_steps).set({ created_at: world.now() }).where(eq(run_steps.run_id, run_id));
    world.elapse(29 * DAY);
    await scheduled.retention(world.context());
    expect((await list()).items).toHaveLength(3);
    world.elapse(2 * DAY);
    await scheduled.retention(world.context());
    expect((await list()).items).toEqual([]);
    const run = (await asOwner("GET", `/api/v1/boards/${team.board_id}/runs/${run_id}`)).body;
    expect(run).toMatchObject({ steps: 3, steps_expired_at: expect.any(String) });
  });

  test("a thousand typical steps take less than 60 KB", async () => {
    for (let from = 0; from < 1_000; from += 50)
      await post(
        from,
        Array.from({ length: 50 }, (_, index) => ({
          kind: "tool_call",
          tool_call_id: `call-${from + index}`,
          title: `Read file src/part-${(from + index) % 37}.ts`,
          tool_kind: "read",
          status: "completed",
          locations: [{ path: `src/part-${(from + index) % 37}.ts`, line: from + index }],
          output: `export const value${from + index} = ${Math.sin(from + index)};`,
        })),
      );
    const rows = await world.db
      .select({ bytes: run_steps.body_bytes })
      .from(run_steps)
      .where(eq(run_steps.run_id, run_id))
      .orderBy(asc(run_steps.first));
    expect(rows.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThan(60_000);
  });
});
