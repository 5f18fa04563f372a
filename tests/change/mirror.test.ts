import { scheduled } from "@board/api/work/schedules";
import fc from "fast-check";
import { expect, test } from "vitest";
import { addBoard } from "../support/board.ts";
import { FIELDS } from "../support/custom-field.ts";
import { setupTenants } from "../support/gateway-fixture.ts";
import type { Tenant, World } from "../support/world.ts";
import { type Mirror, openMirror, readLists, toPlain } from "./mirror.ts";

const { world, home } = await setupTenants();

/** The rows from which the steps of a random sequence of changes choose. */
interface Place {
  world: World;
  home: Tenant;
  boards: string[];
  tags: string[];
  fields: { id: string; field_key: string }[];
  /** An agent that works on the second board. */
  worker: { token: string; board_id: string };
  mirror?: Mirror;
}

interface Step {
  kind: keyof typeof STEPS;
  /** Numbers that select among the existing rows. */
  first: number;
  second: number;
  sync: boolean;
}

const at = <T>(list: readonly T[], index: number): T | undefined => list[index % Math.max(list.length, 1)];

/** Sends a request of the owner. The service may refuse the request, but must not answer with a status of 500 or above. */
async function send({ world, home }: Place, method: string, path: string, body?: object) {
  const answer = await world.call(method, path, { token: home.owner.token, body });
  if (answer.status >= 500) throw new Error(`${method} ${path}: ${answer.text}`);
  return answer;
}

/**
 * Lists the agents of boards. Main agents are left out, because a history may delete the listed agents, and no board can be added
 * to a gateway without a main agent.
 */
async function boardAgentIds(place: Place): Promise<string[]> {
  const { items } = (await send(place, "GET", "/api/v1/agents?limit=200")).body as {
    items: { id: string; board_id: string | null }[];
  };
  return items.flatMap(({ id, board_id }) => (board_id === null ? [] : [id]));
}

async function idsAt(place: Place, path: string): Promise<string[]> {
  const answer = await send(place, "GET", `${path}?limit=200`);
  return answer.status === 200 ? (answer.body.items as { id: string }[]).map(({ id }) => id) : [];
}

const boardPath = ({ boards }: Place, { first }: Step) => `/api/v1/boards/${at(boards, first)}`;

/** Runs a request with a task of a board, if the board has tasks. */
async function withTask(place: Place, step: Step, run: (path: string, ids: string[], id: string) => Promise<unknown>) {
  const path = `${boardPath(place, step)}/tasks`;
  const ids = await idsAt(place, path);
  const id = at(ids, step.second);
  if (id) await run(path, ids, id);
}

const patchTask = (toBody: (step: Step, ids: string[], place: Place) => object) => (place: Place, step: Step) =>
  withTask(place, step, (path, ids, id) => send(place, "PATCH", `${path}/${id}`, toBody(step, ids, place)));

let reports = 0;

/**
 * The worker takes a task of the second board, unless it holds the task, and reports steps and usage. The mirror reads this
 * report. The second report follows so soon that the service does not record its usage at once.
 */
async function report(place: Place, { second }: Step) {
  const { world, worker } = place;
  const path = `/boards/${worker.board_id}/tasks`;
  const task_id = at(await idsAt(place, `/api/v1${path}`), second);
  const asWorker = (method: string, path: string, body: object) =>
    world.call(method, `/api/v1/agent${path}`, { agent: worker.token, body });
  if (!task_id || (await asWorker("PUT", `${path}/${task_id}/lease`, {})).status !== 200) return;
  const { run } = (await send(place, "GET", `/api/v1${path}/${task_id}`)).body;
  const { steps } = (await send(place, "GET", `/api/v1/boards/${worker.board_id}/runs/${run.id}`)).body;
  const use = () => ({ key: `report-${++reports}`, input_tokens: second + 1, cost_usd: "0.01" });
  await asWorker("POST", `/runs/${run.id}/steps`, {
    from: steps,
    steps: [
      { kind: "message", text: "Hello" },
      { kind: "usage", ...use() },
    ],
  });
  await place.mirror!.sync();
  await asWorker("POST", "/usage", { entries: [{ ...use(), task_id }] });
}

const STEPS = {
  report,
  createTask: (place: Place, step: Step) =>
    send(place, "POST", `${boardPath(place, step)}/tasks`, {
      title: `Task ${step.second}`,
      tag_ids: place.tags.slice(0, step.second % 3),
    }),
  renameTask: patchTask(({ first, second }) => ({ title: `Title ${first} ${second}` })),
  moveTask: patchTask(({ first }) => ({ status: at(["inbox", "in_progress", "done"], first) })),
  tagTask: patchTask(({ first }, _ids, { tags }) => ({ tag_ids: tags.slice(first % 3) })),
  dependTask: patchTask(({ first }, ids) => ({ depends_on_task_ids: [at(ids, first)] })),
  setField: patchTask(({ first, second }, _ids, { fields }) => ({
    custom_field_values: { [at(fields, first)?.field_key ?? "none"]: `V${second}` },
  })),
  removeTask: (place: Place, step: Step) => withTask(place, step, (path, _ids, id) => send(place, "DELETE", `${path}/${id}`)),
  comment: (place: Place, step: Step) =>
    withTask(place, step, (path, _ids, id) => send(place, "POST", `${path}/${id}/comments`, { content: `Note ${step.first}` })),
  requestApproval: (place: Place, step: Step) =>
    withTask(place, step, (_path, ids, id) =>
      send(place, "POST", `${boardPath(place, step)}/approvals`, {
        action_type: "Do",
        description: "Why",
        task_ids: [...new Set([id, at(ids, step.first)])],
      }),
    ),
  async decideApproval(place: Place, step: Step) {
    const path = `${boardPath(place, step)}/approvals`;
    const id = at(await idsAt(place, path), step.second);
    if (id) await send(place, "PATCH", `${path}/${id}`, { status: at(["approved", "rejected", "pending"], step.first) });
  },
  remember: (place: Place, step: Step) =>
    send(place, "POST", `${boardPath(place, step)}/memory`, { content: `Memory ${step.second}` }),
  createAgent: (place: Place, step: Step) =>
    send(place, "POST", "/api/v1/agents", { name: `Agent ${step.first} ${step.second}`, board_id: at(place.boards, step.first) }),
  async changeAgent(place: Place, step: Step) {
    const id = at(await boardAgentIds(place), step.first);
    const board_id = at(place.boards, step.second);
    if (id) await send(place, "PATCH", `/api/v1/agents/${id}`, step.second % 2 ? { name: `Name ${step.second}` } : { board_id });
  },
  async assignTask(place: Place, step: Step) {
    const id = at(await boardAgentIds(place), step.first);
    await patchTask(() => ({ assigned_agent_id: id }))(place, step);
  },
  async removeAgent(place: Place, step: Step) {
    const id = at(await boardAgentIds(place), step.first);
    if (id) await send(place, "DELETE", `/api/v1/agents/${id}`);
  },
  renameBoard: (place: Place, step: Step) => send(place, "PATCH", boardPath(place, step), { name: `Board ${step.second}` }),
  async replaceBoard(place: Place, step: Step) {
    await send(place, "DELETE", boardPath(place, step));
    place.boards = place.boards.filter((id) => id !== at(place.boards, step.first));
    place.boards.push((await addBoard(place.world, place.home, `New ${step.first} ${step.second}`)).board_id);
  },
  renameOrganization: (place: Place, { second }: Step) =>
    send(place, "PATCH", "/api/v1/organizations/me", { name: `Organization ${second}` }),
  async createBudget(place: Place, step: Step) {
    const agent_id = at(await boardAgentIds(place), step.second);
    const task_id = at(await idsAt(place, `${boardPath(place, step)}/tasks`), step.second);
    const places = [
      { scope: "organization" },
      { scope: "board", scope_id: at(place.boards, step.first) },
      { scope: "agent", scope_id: agent_id },
      { scope: "task", scope_id: task_id },
    ];
    await send(place, "POST", "/api/v1/budgets", { ...at(places, step.second), limit: { total_tokens: step.first } });
  },
  async changeBudget(place: Place, step: Step) {
    const id = at(await idsAt(place, "/api/v1/budgets"), step.first);
    const change = at([{ warn_at: 0.5 }, { limit: { runs: step.first } }, { on_limit: "warn" }, { period: "day" }], step.second);
    if (id) await send(place, "PATCH", `/api/v1/budgets/${id}`, change);
  },
  async removeBudget(place: Place, step: Step) {
    const id = at(await idsAt(place, "/api/v1/budgets"), step.first);
    if (id) await send(place, "DELETE", `/api/v1/budgets/${id}`);
  },
  changeTag: (place: Place, step: Step) =>
    send(
      place,
      step.second % 4 ? "PATCH" : "DELETE",
      `/api/v1/tags/${at(place.tags, step.first)}`,
      step.second % 4 ? { name: `Tag ${step.second}` } : undefined,
    ),
  changeField: (place: Place, step: Step) =>
    send(
      place,
      "PATCH",
      `${FIELDS}/${at(place.fields, step.first)?.id}`,
      step.second % 2 ? { default_value: `D${step.second}` } : { board_ids: place.boards.slice(step.first % 2) },
    ),
};

const history = fc.array(
  fc.record<Step>({
    kind: fc.constantFrom(...(Object.keys(STEPS) as (keyof typeof STEPS)[])),
    first: fc.nat(7),
    second: fc.nat(7),
    sync: fc.boolean(),
  }),
  { minLength: 25, maxLength: 40 },
);

/** Adds two boards with tasks, tags and custom fields. */
async function openPlace(): Promise<Place> {
  const boards = [home.board_id, (await addBoard(world, home)).board_id];
  const place: Place = { world, home, boards, tags: [], fields: [], worker: { token: "", board_id: boards[1]! } };
  for (const board_id of boards)
    await send(place, "PATCH", `/api/v1/boards/${board_id}`, { require_approval_for_done: false, max_agents: 5 });
  const worker = { name: "Worker", board_id: boards[1] };
  place.worker.token = (await send(place, "POST", "/api/v1/agents", worker)).body.auth_token;
  for (const name of ["One", "Two", "Three"]) place.tags.push((await send(place, "POST", "/api/v1/tags", { name })).body.id);
  for (const field_key of ["first", "second"])
    place.fields.push((await send(place, "POST", FIELDS, { field_key, field_type: "text", board_ids: boards })).body);
  for (const first of [0, 1])
    for (const second of [0, 1, 2]) await STEPS.createTask(place, { kind: "createTask", first, second, sync: false });
  for (const second of [0, 1, 3]) await STEPS.createBudget(place, { kind: "createBudget", first: 1, second, sync: false });
  return place;
}

test("a mirror that follows the feed and reads the changed items equals the lists, after any sequence of changes", async () => {
  await fc.assert(
    fc.asyncProperty(history, async (steps) => {
      const place = await openPlace();
      const mirror = await openMirror(place.world, place.home);
      place.mirror = mirror;
      for (const step of steps) {
        await STEPS[step.kind](place, step);
        if (step.sync) await mirror.sync();
      }
      // The last usage of a run may have to wait for the schedule.
      await STEPS.report(place, { kind: "report", first: 0, second: 0, sync: false });
      world.elapse(2_000);
      await scheduled.lifecycle(world.context());
      await mirror.sync();
      const lists = await readLists(place.world, { token: place.home.owner.token });
      expect(toPlain(mirror.items)).toEqual(toPlain(lists));
    }),
    { numRuns: Number(process.env["MIRROR_RUNS"] ?? 4), endOnFailure: true },
  );
}, 600_000);
