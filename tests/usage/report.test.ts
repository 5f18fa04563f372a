import { rowsOf } from "@board/core/db/database";
import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { renew, setupWorld } from "../support/fixtures.ts";
import { addTask } from "../support/task.ts";
import { createWorld } from "../support/world.ts";

let tenants = 0;

const world = await setupWorld();

const home = renew(() => world.tenant(`tenant-${++tenants}`));

const DAY_MS = 86_400_000;
const report = (entries: object[], agent = home.worker.token) =>
  world.call("POST", "/api/v1/agent/usage", { agent, body: { entries } });
const read = async (query = "", token = home.owner.token) =>
  (await world.call("GET", `/api/v1/metrics/usage?${query}`, { token })).body;
const rowOf = (usage: { rows: { key: string | null }[] }, key: string | null) =>
  usage.rows.find((row) => row.key === key) as unknown as Record<"work" | "idle", Record<string, unknown>> & {
    name: string;
    reported: boolean;
  };

const ENTRY = {
  key: "turn-1",
  model: "opus",
  input_tokens: 1000,
  output_tokens: 200,
  cached_input_tokens: 800,
  cost_usd: "0.10",
};

test("usage for a task is counted under its day, board, agent, model and task", async () => {
  const task = await addTask(world, home, { title: "Paint" });
  const answer = await report([
    { ...ENTRY, task_id: task.id },
    { ...ENTRY, key: "turn-2", task_id: task.id, reasoning_tokens: 50, cost_usd: "0.023456789012" },
  ]);
  expect([answer.status, answer.body]).toEqual([200, { ok: true, accepted: 2, repeated: 0, exhausted_budget_ids: [] }]);
  const sums = {
    entries: 2,
    runs: 0,
    input_tokens: 2000,
    output_tokens: 400,
    cached_input_tokens: 1600,
    reasoning_tokens: 50,
    total_tokens: 2400,
    cost_usd: "0.123456789012",
  };
  const days = await read("group_by=day&range_key=7d");
  expect(days.rows).toHaveLength(8);
  expect(days.rows.at(-1)).toMatchObject({ key: world.now().toISOString().slice(0, 10), work: sums });
  expect(days.total.work).toEqual(sums);
  expect(rowOf(await read("group_by=board"), home.board_id)).toMatchObject({ name: `tenant-${tenants} board`, work: sums });
  expect(rowOf(await read("group_by=agent&range_key=1y"), home.worker.id)).toMatchObject({ reported: true, work: sums });
  expect(rowOf(await read("group_by=model"), "opus")).toMatchObject({ name: "opus", work: sums });
  expect(rowOf(await read("group_by=task&range_key=24h"), task.id)).toMatchObject({ name: "Paint", work: sums });
});

test("an entry with the same key counts once per agent, whether it is sent twice in one request, again later, or concurrently", async () => {
  expect((await report([ENTRY, { ...ENTRY, input_tokens: 7 }])).body).toEqual({
    ok: true,
    accepted: 1,
    repeated: 1,
    exhausted_budget_ids: [],
  });
  const answers = await Promise.all([report([ENTRY]), report([{ ...ENTRY, key: "b" }]), report([{ ...ENTRY, key: "b" }])]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect((await report([ENTRY], home.lead.token)).body.accepted).toBe(1);
  expect((await read("group_by=day")).total.idle).toMatchObject({ entries: 3, input_tokens: 3000, cost_usd: "0.3" });
});

test("usage without a task or run is idle, and shown separately", async () => {
  const task = await addTask(world, home);
  await report([ENTRY, { ...ENTRY, key: "2", task_id: task.id }]);
  const { work, idle } = rowOf(await read("group_by=agent"), home.worker.id);
  expect([work["entries"], idle["entries"], idle["cost_usd"]]).toEqual([1, 1, "0.1"]);
});

test("an agent that reports nothing has no figures instead of zeros, and an unknown price stays unknown", async () => {
  await report([{ key: "1", input_tokens: 5 }]);
  const usage = await read("group_by=agent");
  expect(rowOf(usage, home.worker.id)).toMatchObject({ reported: true, idle: { input_tokens: 5, cost_usd: null } });
  expect(rowOf(usage, home.lead.id)).toMatchObject({
    reported: false,
    work: { total_tokens: null, entries: null },
    idle: { total_tokens: null },
  });
  expect(rowOf(await read("group_by=model"), null)).toMatchObject({ name: null, idle: { input_tokens: 5 } });
});

test("one entry with a task or run that is not the agent's makes the whole request fail, and the error names the entry's key", async () => {
  const other = await world.tenant(`other-${tenants}`);
  const task = await addTask(world, other);
  for (const place of [{ task_id: task.id }, { run_id: crypto.randomUUID() }]) {
    const answer = await report([
      { ...ENTRY, key: "good" },
      { ...ENTRY, key: "bad", ...place },
    ]);
    expect([answer.status, answer.body.detail.code, answer.body.detail.key]).toEqual([422, "usage_place_unknown", "bad"]);
  }
  expect(
    (
      await report([
        { ...ENTRY, key: "good" },
        { ...ENTRY, key: "bad" },
      ])
    ).body,
  ).toMatchObject({ accepted: 2, repeated: 0, exhausted_budget_ids: [] });
});

test("an entry counts on the day of its use, up to seven days back, and an entry with a time in the future counts today", async () => {
  const at = (days: number) => new Date(world.now().getTime() + days * DAY_MS).toISOString();
  const old = await report([{ ...ENTRY, key: "old", at: at(-8) }]);
  expect([old.status, old.body.detail.code]).toEqual([422, "usage_entry_too_old"]);
  await report([
    { ...ENTRY, key: "a", at: at(-3) },
    { ...ENTRY, key: "b", at: at(3) },
  ]);
  const { rows } = await read("group_by=day");
  expect(rowOf({ rows }, at(-3).slice(0, 10)).idle["entries"]).toBe(1);
  expect(rows.at(-1).idle.entries).toBe(1);
});

test("the usage of removed tasks and agents stays, under their names", async () => {
  const task = await addTask(world, home, { title: "Old fence" });
  await report([{ ...ENTRY, task_id: task.id }]);
  await world.call("DELETE", `/api/v1/boards/${home.board_id}/tasks/${task.id}`, { token: home.owner.token });
  await world.call("DELETE", `/api/v1/agents/${home.worker.id}`, { token: home.owner.token });
  await world.drain();
  expect(rowOf(await read("group_by=task"), task.id)).toMatchObject({ name: "Old fence", work: { cost_usd: "0.1" } });
  expect(rowOf(await read("group_by=agent"), home.worker.id)?.work).toMatchObject({ cost_usd: "0.1" });
});

test("models beyond the hundredth of an organization are counted together as other", async () => {
  for (const part of [0, 1])
    await report(
      Array.from({ length: 60 }, (_, index) => ({
        key: `${part}-${index}`,
        model: `model ${part * 60 + index}`,
        input_tokens: 1,
      })),
    );
  const usage = await read("group_by=model&limit=500");
  expect(usage.groups).toBe(101);
  expect(rowOf(usage, "other").idle["input_tokens"]).toBe(20);
});

test("a member sees the usage of the boards that they may read, and of no other boards", async () => {
  const second = await world.call("POST", "/api/v1/boards", {
    token: home.owner.token,
    body: { name: "Second", description: "b", gateway_id: home.gateway_id },
  });
  await report([ENTRY]);
  const guest = await world.person(`guest-${tenants}`);
  const member_id = await world.join(guest, home.organization_id, "member");
  await world.call("PUT", `/api/v1/organizations/me/members/${member_id}/access`, {
    token: home.owner.token,
    body: {
      all_boards_read: false,
      all_boards_write: false,
      board_access: [{ board_id: second.body.id, can_read: true, can_write: false }],
    },
  });
  for (const group_by of ["day", "agent", "board", "model", "task"])
    expect((await read(`group_by=${group_by}`, guest.token)).total.idle.entries).toBe(0);
  expect((await world.call("GET", `/api/v1/metrics/usage?board_id=${home.board_id}`, { token: guest.token })).status).toBe(404);
  expect((await read(`board_id=${home.board_id}`)).total.idle.entries).toBe(1);
  const other = await world.tenant(`stranger-${tenants}`);
  expect((await read("group_by=agent", other.owner.token)).total.idle.entries).toBe(0);
});

test("the most expensive tasks of a range are exact, including tasks that were worked on before it", async () => {
  const tasks = await Promise.all(Array.from({ length: 12 }, (_, n) => addTask(world, home, { title: `Task ${n}` })));
  const sent: { at: number; task_id: string; cents: number | null }[] = [];
  let accepted = 0;
  // The tasks begin in different rounds and take one, four or twelve rounds. Every fourth has no price, and one is expensive.
  for (let round = 0; round < 20; round++) {
    const entries = tasks.flatMap(({ id }, n) => {
      const begun = (n * 7) % 19;
      if (round < begun || round >= begun + [1, 4, 12][n % 3]!) return [];
      const cents = n % 4 === 3 ? null : (((round * 37 + n * 11) % 97) * 100 + n) * (n === 10 ? 9 : 1);
      sent.push({ at: world.now().getTime(), task_id: id, cents });
      const price = cents === null ? {} : { cost_usd: (cents / 100).toFixed(2) };
      return [{ key: `${round}-${n}`, task_id: id, input_tokens: 100 * n + round, ...price }];
    });
    if (entries.length > 0) accepted += (await report(entries)).body.accepted;
    world.elapse(5 * DAY_MS);
  }
  expect(accepted).toBe(sent.length);
  for (const [range, days] of [
    ["24h", 1],
    ["14d", 14],
    ["1m", 30],
    ["3m", 90],
    ["1y", 365],
  ] as const) {
    const from = Math.floor((world.now().getTime() - days * DAY_MS) / DAY_MS) * DAY_MS;
    const cents = new Map<string, number | null>();
    for (const entry of sent.filter(({ at }) => at >= from)) {
      const before = cents.get(entry.task_id) ?? null;
      cents.set(entry.task_id, entry.cents === null ? before : (before ?? 0) + entry.cents);
    }
    const prices = [...cents.values()].filter((value) => value !== null).toSorted((one, other) => other - one);
    for (const limit of [1, 3, 500]) {
      const usage = await read(`group_by=task&range=${range}&limit=${limit}`);
      expect([range, limit, usage.groups]).toEqual([range, limit, cents.size]);
      const rows = usage.rows as { key: string; work: { cost_usd: string | null } }[];
      expect(rows).toHaveLength(Math.min(limit, cents.size));
      for (const [index, { key, work }] of rows.entries()) {
        const shown = work.cost_usd === null ? null : Math.round(Number(work.cost_usd) * 100);
        expect([range, limit, index, shown]).toEqual([range, limit, index, cents.get(key)]);
        expect(shown).toBe(prices[index] ?? null);
      }
    }
  }
});

test("the CSV of usage has the rows of the JSON answer, and no cell that a spreadsheet would run", async () => {
  const titles = ["=1+1", "+cmd", "-2", "@SUM(A1)", 'a "quoted", one'];
  for (const [index, title] of titles.entries()) {
    const task = await addTask(world, home, { title });
    await report([{ ...ENTRY, key: `${index}`, task_id: task.id, cost_usd: `${9 - index}` }]);
  }
  const answer = await world.call("GET", "/api/v1/metrics/usage.csv?group_by=task", { token: home.owner.token });
  expect(answer.headers.get("content-type")).toContain("text/csv");
  const lines = answer.text.split("\r\n");
  expect(lines[0]).toContain("task,name,reported,entries");
  expect(lines.slice(1, 6).map((line) => line.split(",")[1])).toEqual(["'=1+1", "'+cmd", "'-2", "'@SUM(A1)", '"a ""quoted""']);
});

test("an organization that reports more entries in a day than its limit gets 429", async () => {
  const limited = await createWorld({ limits: { organization_usage_entries_per_day: 3 } });
  const tenant = await limited.tenant("limited");
  const send = (keys: string[]) =>
    limited.call("POST", "/api/v1/agent/usage", {
      agent: tenant.worker.token,
      body: { entries: keys.map((key) => ({ key, input_tokens: 1 })) },
    });
  expect((await send(["a", "b"])).status).toBe(200);
  expect((await send(["c", "d"])).status).toBe(429);
  await limited.close();
});

test("entries are kept for a week and sums for a year, and sums stay exact", async () => {
  const task = await addTask(world, home);
  await report([ENTRY, { ...ENTRY, key: "task", task_id: task.id }]);
  const { scheduled } = await import("@board/api/work/schedules");
  const count = async () =>
    rowsOf<{ entries: number; counts: number; tasks: number }>(
      await world.db.execute(sql`select (select count(*)::int from usage_entries where organization_id = ${home.organization_id}) as entries,
        (select count(*)::int from usage_counts where organization_id = ${home.organization_id}) as counts,
        (select count(*)::int from usage_tasks where organization_id = ${home.organization_id}) as tasks`),
    )[0];
  expect(await count()).toEqual({ entries: 2, counts: 10, tasks: 1 });
  world.elapse(8 * DAY_MS);
  await scheduled.retention(world.context());
  expect(await count()).toEqual({ entries: 0, counts: 10, tasks: 1 });
  expect((await read("range_key=14d")).total.idle.entries).toBe(1);
  world.elapse(400 * DAY_MS);
  await scheduled.retention(world.context());
  expect(await count()).toEqual({ entries: 0, counts: 0, tasks: 0 });
});
