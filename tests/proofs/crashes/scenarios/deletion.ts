import { hostAgentId } from "@board/core/values/session-key";
import { expect } from "vitest";
import { agentsOf } from "../../../support/fake-gateway/config.ts";
import type { ServiceEnvironment } from "../../load/environment.ts";
import type { Scenario } from "../walk.ts";

/** The number of the board's rows in some tables. All these rows are removed together with the board. */
const ROWS = { agents: 2, tasks: 2, task_dependencies: 1, approvals: 1, board_webhooks: 1 };

/** Deletes a board with all of its rows while a notification is still queued. */
export const deletion: Scenario = {
  name: "a board is deleted",

  async act(outside, { board_id, hook }, answers) {
    expect((await outside.request("POST", hook, { raw: "{}" })).status).toBe(202);
    answers.push(await remove(outside, board_id));
  },

  async check(outside, { board_id, lead, worker }, answers) {
    const isThere = (await outside.rows(`select id from boards where id = '${board_id}'`)).length > 0;
    const rows = await rowsOf(outside, board_id);
    if (isThere) expect(rows).toMatchObject(ROWS);
    else expect(rows).toEqual({});
    if (isThere) {
      expect(answers).toEqual([]);
      expect((await remove(outside, board_id)).status).toBe(200);
      await outside.drainQueue();
      expect(await rowsOf(outside, board_id)).toEqual({});
    }
    for (const { status } of answers) expect(status).toBe(200);
    expect((await remove(outside, board_id)).status).toBe(404);

    const { host } = outside.host;
    const entries = new Set(agentsOf(host.config.file(), host.dialect).map(({ id }) => id));
    for (const { session_key, token } of [lead, worker]) {
      expect(entries.has(hostAgentId(session_key))).toBe(false);
      expect(host.files.has(`/srv/agents/workspace-${hostAgentId(session_key)}`)).toBe(false);
      expect((await outside.request("GET", "/api/v1/agent/healthz", { agent: token })).status).toBe(401);
    }
    // The agents of the host and of the gateway stay.
    expect(entries.size).toBe(2);
    expect(await outside.rows("select kind, status, last_error from jobs where status <> 'done'")).toEqual([]);
    return null;
  },
};

const remove = (outside: ServiceEnvironment, board_id: string) => outside.request("DELETE", `/api/v1/boards/${board_id}`);

/** The feed of changes and the figures of usage keep their rows of boards that were removed. */
const KEPT = ["changes", "usage_counts", "usage_entries", "usage_tasks"];

/** Counts, by table, the rows that reference a board and are removed with it. */
async function rowsOf(outside: ServiceEnvironment, board_id: string): Promise<Record<string, number>> {
  const tables = await outside.rows<{ name: string }>(
    "select table_name as name from information_schema.columns where table_schema = 'public' and column_name = 'board_id'",
  );
  const counted: Record<string, number> = {};
  for (const { name } of tables.filter((table) => !KEPT.includes(table.name))) {
    const [{ total } = { total: 0 }] = await outside.rows<{ total: number }>(
      `select count(*)::int as total from "${name}" where board_id = '${board_id}'`,
    );
    if (total > 0) counted[name] = total;
  }
  return counted;
}
