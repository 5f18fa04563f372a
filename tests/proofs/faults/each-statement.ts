/** Cuts the connections after the first statement of an operation, then after the second, until the operation succeeds. */
import { expect } from "vitest";
import type { ServerProcess } from "../../support/server-process.ts";
import { createSender } from "../load/tenants.ts";
import type { Prepared, Surroundings } from "./environment.ts";

/** More statements than any operation has. */
const MAX_STATEMENTS = 80;
/** The cut may hit an unrelated statement of the server, so the operation has to succeed this often in a row. */
const UNDISTURBED = 3;

export interface Operation {
  method: string;
  path: (prepared: Prepared) => string;
  /** A body that names the attempt. */
  body: (attempt: string) => object;
  /** Returns the attempts whose work is stored, with repetitions. */
  read: (url: string, prepared: Prepared) => Promise<string[]>;
}

const listOf = async (url: string, token: string, path: string) =>
  ((await createSender(url, token)("GET", `${path}?limit=200`)) as unknown as { items: Record<string, string>[] }).items;

export const operations: Readonly<Record<string, Operation>> = {
  "a post to a webhook": {
    method: "POST",
    path: ({ tenant }) => tenant.open_path,
    body: (attempt) => ({ attempt }),
    read: async (url, { tenant }) =>
      (await listOf(url, tenant.token, `${tenant.open_path}/payloads`)).map(
        ({ payload }) => (payload as unknown as { attempt: string }).attempt,
      ),
  },
  "a new task": {
    method: "POST",
    path: ({ tenant }) => `/api/v1/boards/${tenant.board_id}/tasks`,
    body: (attempt) => ({ title: attempt }),
    read: async (url, { tenant }) =>
      (await listOf(url, tenant.token, `/api/v1/boards/${tenant.board_id}/tasks`))
        .map(({ title }) => title!)
        .filter((title) => title.startsWith("attempt ")),
  },
  "a task moved with a comment": {
    method: "PATCH",
    path: ({ tenant, task_ids }) => `/api/v1/boards/${tenant.board_id}/tasks/${task_ids[0]}`,
    body: (attempt) => ({ comment: attempt, status: Number(attempt.slice(8)) % 2 === 0 ? "in_progress" : "inbox" }),
    read: async (url, { tenant, task_ids }) =>
      (await listOf(url, tenant.token, `/api/v1/boards/${tenant.board_id}/tasks/${task_ids[0]}/comments`)).map(
        ({ message }) => message!,
      ),
  },
};

/** Returns the figures for the table. */
export async function cutAtEachStatement(
  { proxy }: Surroundings,
  server: ServerProcess,
  prepared: Prepared,
  operation: Operation,
): Promise<Record<string, string | number>> {
  const accepted: string[] = [];
  const refused: string[] = [];
  let undisturbed = 0;
  let statements = 0;
  while (undisturbed < UNDISTURBED && statements < MAX_STATEMENTS) {
    const attempt = `attempt ${++statements}`;
    proxy.cutAfter(statements);
    const status = await send(server.url, prepared, operation, attempt);
    undisturbed = proxy.left === null ? 0 : undisturbed + 1;
    proxy.cutAfter(Number.POSITIVE_INFINITY);
    (status < 300 ? accepted : refused).push(attempt);
    // The lost connection must not disturb the next request either.
    const next = `attempt ${statements + MAX_STATEMENTS}`;
    expect(await send(server.url, prepared, operation, next)).toBeLessThan(300);
    accepted.push(next);
  }
  expect(statements).toBeLessThan(MAX_STATEMENTS);
  expect(refused.length).toBeGreaterThan(0);
  const stored = await operation.read(server.url, prepared);
  expect(accepted.filter((attempt) => !stored.includes(attempt))).toEqual([]);
  expect(stored.filter((attempt, index) => stored.indexOf(attempt) !== index)).toEqual([]);
  const unsure = refused.filter((attempt) => stored.includes(attempt)).length;
  return { work: statements * 2, answers: `200 x ${accepted.length}, 503 x ${refused.length} (${unsure} stored)` };
}

async function send(url: string, prepared: Prepared, { method, path, body }: Operation, attempt: string): Promise<number> {
  const headers = { "content-type": "application/json", authorization: `Bearer ${prepared.tenant.token}` };
  const answer = await fetch(url + path(prepared), { method, headers, body: JSON.stringify(body(attempt)) });
  const text = await answer.text();
  const { status } = answer;
  expect({ status, text: status < 300 || status === 503 ? "" : text }).toEqual({ status, text: "" });
  if (status === 503) expect(answer.headers.get("retry-after")).toMatch(/^\d+$/);
  return status;
}
