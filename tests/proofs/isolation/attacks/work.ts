/** Attacks with a lot of work: many rows, many links, many jobs. Each piece of it is allowed. */
import { createHmac } from "node:crypto";
import type { Attacker } from "../attacker.ts";
import type { AttackPlan } from "./all.ts";

const TAGS_OF_TASK = 200;
const SYNCS = 16;
const CHAIN = 400;

const tasksPath = (a: Attacker) => `/api/v1/boards/${a.own.board_id}/tasks`;
const createTask = (a: Attacker, body: object = {}) => a.create(tasksPath(a), { title: "Task", ...body });

export const workAttacks: Readonly<Record<string, AttackPlan>> = {
  "10,000 tags, and tasks with 200 of them": {
    async run(a) {
      const ids: string[] = [];
      await a.forever(8, async (n) => {
        if (n < 10_000 && n % 4 !== 0) return ids.push(await a.create("/api/v1/tags", { name: `Tag ${n}`, slug: `tag-${n}` }));
        await a.call("POST", tasksPath(a), { body: { title: "Tagged", tag_ids: ids.slice(-TAGS_OF_TASK) } });
        await a.call("GET", n % 8 === 0 ? "/api/v1/tags?limit=200" : `${tasksPath(a)}?limit=200`);
      });
    },
  },
  "a chain of 400 tasks that depend on each other": {
    async run(a) {
      const ids = [await createTask(a)];
      while (ids.length < CHAIN) ids.push(await createTask(a, { depends_on_task_ids: ids.slice(-50) }));
      const path = (at: number) => `${tasksPath(a)}/${ids.at(at)!}`;
      await a.forever(8, async (n) => {
        // The search for cycles and a change of status both walk the whole chain.
        await a.call("PATCH", path(0), { body: { depends_on_task_ids: [ids.at(-1)] } });
        await a.call("PATCH", path(0), { body: { status: n % 2 === 0 ? "done" : "inbox" } });
      });
    },
  },
  "template syncs without a pause": {
    run: (a) =>
      a.forever(SYNCS, (n) =>
        a.call("POST", `/api/v1/gateways/${a.own.gateway_id}/templates/sync?force_bootstrap=${n % 2 === 0}`),
      ),
  },
  "posts to ten webhooks as fast as they are taken": {
    async run(a) {
      const path = `/api/v1/boards/${a.own.board_id}/webhooks`;
      const ids: string[] = [];
      for (let n = 0; n < 10; n++) ids.push(await a.create(path, { description: `Source ${n}` }));
      await a.forever(16, (n) => a.call("POST", `${path}/${ids[n % ids.length]}`, { raw: "{}", anonymous: true }));
    },
  },
  "chat messages without a pause": {
    async run(a) {
      const path = `/api/v1/boards/${a.own.board_id}/memory`;
      await a.forever(16, () => a.call("POST", path, { body: { content: "@lead @worker hello", tags: ["chat"] } }));
    },
  },
  "changes of one task by 32 callers": {
    async run(a) {
      const id = await createTask(a);
      const statuses = ["in_progress", "review", "done", "inbox"];
      await a.forever(32, (n) =>
        a.call("PATCH", `${tasksPath(a)}/${id}`, {
          body: { status: statuses[n % 4], title: `Title ${n}`, comment: `Note ${n}` },
        }),
      );
    },
  },
  "agents that are created and deleted without a pause": {
    run: (a) =>
      a.forever(8, async (n) => {
        const id = await a.create("/api/v1/agents", { name: `Agent ${n}`, board_id: a.own.board_id });
        await a.call("DELETE", `/api/v1/agents/${id}`);
      }),
  },
  "signed posts of 1 MB with wrong signatures": {
    run: (a) =>
      a.forever(8, (n) => {
        const raw = "s".repeat(1_000_000);
        const signature = createHmac("sha256", "wrong").update(String(n)).digest("hex");
        const headers = { "x-hub-signature-256": signature, "x-forwarded-for": `2001:db8:${(n % 50_000).toString(16)}::1` };
        return a.call("POST", a.own.signed.path, { raw, headers, anonymous: true });
      }),
  },
};
