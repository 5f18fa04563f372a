import { ApiError, type Client, createClient, type Task, type TaskComment } from "@board/client";
import type { RunFacts, RunLink } from "./journal.ts";
import { addFile, type NewFile } from "./file-upload.ts";
import { hasCode } from "./retry.ts";
import type { Step, UsageEntry } from "./step.ts";

/** A task that the agent holds, with the fence of its lease. */
export interface TaskHandle {
  board_id: string;
  task_id: string;
  fence: number;
}

export interface TakenTask {
  task: Task;
  fence: number;
  expires_at: string;
  comments: TaskComment[];
}

/** A permission for which the runner asks a person. */
export interface PermissionRequest {
  run_id: string | null;
  title: string;
  tool: string;
  excerpt: string;
  options: { id: string; name: string; kind: string }[];
}

/** The decision of a person: the option that was chosen, or null while nobody has decided. */
export interface PermissionAnswer {
  status: "pending" | "approved" | "rejected";
  option: string | null;
}

/** The requests that the runner makes to the service, with the agent's token. */
export interface BoardService {
  readonly url: string;
  readonly client: Client;
  takeTask(options: {
    board_id?: string;
    tags: readonly string[];
    lease_seconds: number;
  }): Promise<TakenTask | { retry_after_seconds: number; reason: string | null }>;
  readInstructions(): Promise<string>;
  readTask(handle: TaskHandle): Promise<Task>;
  /** Renews the lease and returns the task, or null when the lease is lost. */
  renewLease(handle: TaskHandle): Promise<Task | null>;
  addComment(handle: TaskHandle, text: string, key: string, withFence: boolean): Promise<void>;
  moveTask(handle: TaskHandle, status: "review" | "blocked"): Promise<void>;
  releaseTask(handle: TaskHandle): Promise<void>;
  askPermission(handle: TaskHandle, request: PermissionRequest, key: string): Promise<string>;
  readPermission(board_id: string, approval_id: string): Promise<PermissionAnswer>;
  mintRunToken(run_id: string): Promise<string | null>;
  sendSteps(run_id: string, from: number, steps: Step[]): Promise<void>;
  reportUsage(run_id: string, usage: UsageEntry & { key: string }): Promise<void>;
  /** Adds a file to the task. Repeating the call with the same key adds nothing. */
  addFile(handle: TaskHandle, file: NewFile, key: string): Promise<void>;
  describeRun(
    run_id: string,
    fields: { client?: { name: string; version?: string; host?: string }; links?: RunLink[]; ended_reason?: string },
  ): Promise<void>;
}

export const handleOf = ({ board_id, task_id, fence }: RunFacts): TaskHandle => ({ board_id, task_id, fence });

const LEASE_LOST = ["task_lease_lost", "task_already_claimed"];
/** Returns whether the error says that the caller no longer holds the task. */
export const isLeaseLost = (error: unknown): boolean => hasCode(error, ...LEASE_LOST);

const TASK_PATH = "/api/v1/boards/{board_id}/tasks/{task_id}";
const LEASE_PATH = "/api/v1/agent/boards/{board_id}/tasks/{task_id}/lease";

export function createBoardService(url: string, agent_token: string): BoardService {
  const client = createClient({ url, agent_token });
  const paramsOf = ({ board_id, task_id, fence }: TaskHandle) => ({
    path: { board_id, task_id },
    header: { "X-Task-Fence": fence },
  });
  return {
    url,
    client,
    async takeTask({ board_id, tags, lease_seconds }) {
      const body = {
        parallel: true,
        lease_seconds,
        ...(board_id ? { board_id } : {}),
        ...(tags.length > 0 ? { tags: [...tags] } : {}),
      };
      const answer = await client.post("/api/v1/agent/tasks/next", { body });
      const { task, lease, comments, retry_after_seconds } = answer;
      const reason = (answer as { reason?: string | null }).reason ?? null;
      if (!task || !lease) return { retry_after_seconds, reason };
      return { task, comments, fence: lease.fence, expires_at: lease.expires_at };
    },
    // The casts are needed because the instructions are Markdown text, which the typed client does not support.
    readInstructions: async () => String(await client.get("/api/v1/agent/instructions" as never, { parseAs: "text" } as never)),
    readTask: ({ board_id, task_id }) => client.get(TASK_PATH, { params: { path: { board_id, task_id } } }),
    async renewLease(handle) {
      try {
        return await client.patch(TASK_PATH, { params: paramsOf(handle), body: {} });
      } catch (error) {
        if (isLeaseLost(error) || (error instanceof ApiError && [403, 404].includes(error.status))) return null;
        throw error;
      }
    },
    async addComment(handle, content, key, withFence) {
      const { path, header } = paramsOf(handle);
      const params = { path, header: { "Idempotency-Key": key, ...(withFence ? header : {}) } };
      await client.post(`${TASK_PATH}/comments`, { params, body: { content } });
    },
    async moveTask(handle, status) {
      await client.patch(TASK_PATH, { params: paramsOf(handle), body: { status } });
    },
    async releaseTask(handle) {
      await client.delete(LEASE_PATH, { params: paramsOf(handle) });
    },
    async askPermission({ board_id, task_id }, { title, ...request }, key) {
      const body = {
        action_type: "run.permission",
        description: title,
        task_ids: [task_id],
        payload: { title, ...request },
      };
      const params = { path: { board_id }, header: { "Idempotency-Key": key } };
      return (await client.post("/api/v1/boards/{board_id}/approvals", { params, body })).id;
    },
    async readPermission(board_id, approval_id) {
      const { status, payload } = await client.get("/api/v1/boards/{board_id}/approvals/{approval_id}", {
        params: { path: { board_id, approval_id } },
      });
      const option = payload?.["selected_option"];
      return { status, option: typeof option === "string" ? option : null };
    },
    async mintRunToken(run_id) {
      return (await client.post("/api/v1/agent/runs/{run_id}/token", { params: { path: { run_id } } })).token;
    },
    async sendSteps(run_id, from, steps) {
      await client.post("/api/v1/agent/runs/{run_id}/steps", { params: { path: { run_id } }, body: { from, steps } });
    },
    async reportUsage(run_id, usage) {
      await client.post("/api/v1/agent/usage", { body: { entries: [{ ...usage, run_id }] } });
    },
    addFile: ({ board_id, task_id }, file, key) => addFile(client, { url, agent_token }, { board_id, task_id }, file, key),
    async describeRun(run_id, body) {
      await client.patch("/api/v1/agent/runs/{run_id}", { params: { path: { run_id } }, body });
    },
  };
}
