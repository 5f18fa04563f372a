import { endpoints } from "@board/api/groups";
import { tools } from "@board/api/mcp/tools";
import type { Answer } from "../../support/http.ts";
import type { AccessCase } from "./access-matrix.ts";
import { canCall, type Verdict, verdictOf } from "./access-rules.ts";
import { type Caller, strangerLike } from "./callers.ts";
import type { Ids } from "./seed-tenant.ts";
import { BOARD_MARK, OTHER_BOARD_MARK } from "./seed-tenant.ts";
import type { TenancyFixture } from "./tenancy-fixture.ts";

/** A tool with valid arguments, and the operation that decides what a caller may do with it. */
interface ToolInput {
  input?: (ids: Ids) => object;
  /** The operation, by kind of caller. Callers of a kind that is missing here do not see the tool. */
  like: { user?: string; agent?: string; lead?: string };
  /** The status for permitted callers, when it is not 200. */
  answers?: number;
}

const atBoard = ({ board_id }: Ids) => ({ board_id });
const atTask = ({ board_id, task_id }: Ids) => ({ board_id, task_id });
const board = "/api/v1/boards/{board_id}";
const task = `${board}/tasks/{task_id}`;
const both = (operation: string) => ({ user: operation, agent: operation });

const TOOL_INPUTS: Record<string, ToolInput> = {
  check_inbox: { like: { agent: "GET /api/v1/agent/inbox" } },
  next_task: { input: atBoard, like: { agent: "POST /api/v1/agent/tasks/next" } },
  get_task: { input: atTask, like: both(`GET ${task}`) },
  list_tasks: { input: atBoard, like: both(`GET ${board}/tasks`) },
  create_task: {
    input: ({ board_id }) => ({ board_id, title: "New" }),
    like: { user: `POST ${board}/tasks`, lead: "POST /api/v1/agent/boards/{board_id}/tasks" },
  },
  update_task: { input: (ids) => ({ ...atTask(ids), status: "in_progress" }), like: both(`PATCH ${task}`) },
  comment_on_task: { input: (ids) => ({ ...atTask(ids), content: "Said" }), like: both(`POST ${task}/comments`) },
  /** The answer is 409, because the task has no lease. */
  release_task: {
    input: (ids) => ({ ...atTask(ids), reason: "Other work" }),
    like: { agent: "DELETE /api/v1/agent/boards/{board_id}/tasks/{task_id}/lease" },
    answers: 409,
  },
  request_approval: {
    input: ({ board_id }) => ({ board_id, action_type: "Do", description: "It is ready" }),
    like: { agent: `POST ${board}/approvals` },
  },
  decide_approval: {
    input: ({ board_id, approval_id }) => ({ board_id, approval_id, status: "approved" }),
    like: { user: `PATCH ${board}/approvals/{approval_id}` },
  },
  remember: { input: ({ board_id }) => ({ board_id, content: "Said" }), like: both(`POST ${board}/memory`) },
  recall: { input: atBoard, like: both(`GET ${board}/memory`) },
  get_board: { input: atBoard, like: { user: `GET ${board}`, agent: "GET /api/v1/agent/boards/{board_id}" } },
  read_payload: {
    input: ({ board_id, webhook_id, payload_id }) => ({ board_id, webhook_id, payload_id }),
    like: { agent: "GET /api/v1/agent/boards/{board_id}/webhooks/{webhook_id}/payloads/{payload_id}" },
  },
};

/** Arguments that name rows of the board. */
const ROW_NAMES = ["task_id", "approval_id", "webhook_id", "payload_id"];

const mcp = endpoints.find(({ paths }) => paths[0] === "/mcp")!;
const callOf = (name: string, input: object) => ({
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: { name, arguments: input },
});

/** Returns the calls of every tool by every caller: on the home board, with rows of other boards, and on foreign boards. */
export function toolCases({ callers, known, theirs, elsewhere }: TenancyFixture): AccessCase[] {
  return tools.flatMap(({ name, input: schema }) => {
    const { input = () => ({}), answers = 200 } = TOOL_INPUTS[name]!;
    const trial = (caller: Caller, verdict: Verdict, variation: string, ids: Ids): AccessCase => ({
      endpoint: mcp,
      path: "/mcp",
      caller,
      target: "/mcp",
      body: callOf(name, input(ids)),
      status: verdict === "through" ? answers : verdict,
      variation: `${name} ${variation}`,
      tool: name,
      at_board: name !== "check_inbox",
    });
    const home = callers.map((caller) => trial(caller, toolVerdict(name, caller), "on the home board", known));
    // The row belongs to a board other than the named one.
    const rows = ROW_NAMES.filter((row) => row in input(known));
    const crossed = callers.flatMap((caller) =>
      [theirs, elsewhere].flatMap((from) =>
        rows.map((row) => {
          const verdict = toolVerdict(name, caller);
          const about = `with ${row} of another ${from === theirs ? "organization" : "board"}`;
          return trial(caller, verdict === "through" ? 404 : verdict, about, { ...known, [row]: from[row]! });
        }),
      ),
    );
    const abroad = callers
      .filter(({ home, is }) => home && is !== "nobody")
      .map((caller) => trial(caller, toolVerdict(name, strangerLike(caller)), "in another organization", theirs));
    const searches = "q" in schema.shape ? [...home, ...abroad].flatMap(searchesOf) : [];
    return [...home, ...crossed, ...abroad, ...searches];
  });
}

/** Returns two searches by this call: for the marker word of the home board, and for the marker word of another board. */
const searchesOf = (trial: AccessCase): AccessCase[] =>
  [BOARD_MARK, OTHER_BOARD_MARK].map((q) => {
    const { name, arguments: input } = (trial.body as ReturnType<typeof callOf>).params;
    return { ...trial, body: callOf(name, { ...input, q }), variation: `${trial.variation}, search for ${q}` };
  });

/** Returns the expected verdict of a tool. A tool that is not listed for the caller counts as forbidden, like its operation. */
function toolVerdict(name: string, { key: _key, ...caller }: Caller): Verdict {
  // A tool checks the rights of a key to the board, and not the method of a request.
  if (caller.is === "nobody") return 401;
  const { user, agent, lead } = TOOL_INPUTS[name]!.like;
  const like = caller.is === "user" ? user : caller.agent === "lead" ? (lead ?? agent) : agent;
  if (!like || (name === "release_task" && caller.agent === "lead")) return 403;
  const [method, path] = like.split(" ", 2) as [string, string];
  const endpoint = endpoints.find((candidate) => candidate.method === method && candidate.paths.includes(path))!;
  return canCall(endpoint, caller) ? verdictOf(endpoint, path, caller) : 403;
}

/** Returns an answer of the MCP endpoint with the status of its refusal, which the matrix compares. */
export function withToolStatus(answer: Answer): Answer {
  if (answer.status !== 200) return answer;
  const { error, result } = answer.body;
  if (error) return { ...answer, status: 403 };
  return result.isError ? { ...answer, status: JSON.parse(result.content[0].text).status } : answer;
}
