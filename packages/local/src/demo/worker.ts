import type { AgentInbox, NextTask } from "@board/client/api";
import type { Agent, Demo } from "./demo.ts";
import { FACT, workFor } from "./judgement.ts";

/** The shortest lease, so that the demo soon shows what happens at its end. */
const LEASE_SECONDS = 60;
const WORKING_MS = 1_200;

/** The MCP tools return only these fields of what the API returns. */
type Next = Pick<NextTask, "task" | "lease" | "comments">;
type Messages = Pick<AgentInbox, "messages">;

/** Calls a tool of the MCP endpoint, which keeps no session. An agent framework would use the official client instead. */
const connectToTools =
  ({ url, signal }: Demo, token: string) =>
  async <Output>(name: string, input: object): Promise<Output> => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: input } });
    const response = await fetch(`${url}/mcp`, { method: "POST", headers, body, signal });
    const { result } = (await response.json()) as { result: { isError?: boolean; structuredContent: Output } };
    if (result.isError) throw new Error(`${name} was refused: ${JSON.stringify(result)}`);
    return result.structuredContent;
  };

/** Works by MCP on one task at a time, under a lease. A worker that crashes leaves its first task unfinished. */
export async function runWorker(demo: Demo, who: Agent, token: string, crashes = false): Promise<void> {
  const call = connectToTools(demo, token);
  let ack_through: string | undefined;

  /** Waits for work or messages, and acknowledges the messages of the previous call. */
  async function checkInbox() {
    const { messages } = await call<Messages>("check_inbox", { wait: 20, ack_through });
    ack_through = messages.at(-1)?.id;
    // While the worker holds a task, the inbox answers at once, so the worker pauses here.
    await demo.wait(WORKING_MS / 2);
    return messages;
  }

  async function comment(task_id: string, fence: number, content: string, verb: string): Promise<void> {
    await demo.wait(WORKING_MS);
    await call("comment_on_task", { task_id, fence, content });
    demo.say(who, `${verb} ${demo.label(task_id)}: ${content}`);
  }

  async function waitForAnswer(id: string): Promise<void> {
    while (!(await checkInbox()).some(({ kind, task_id }) => kind === "task.comment" && task_id === id));
    await call("remember", FACT);
    demo.say(who, `remembers: ${FACT.content}`);
  }

  async function work(task_id: string, title: string, fence: number, is_rework: boolean): Promise<void> {
    const { finding, question, result, rework = result } = workFor(title);
    if (finding && !is_rework) await comment(task_id, fence, finding, "comments on");
    if (question && !is_rework) {
      await comment(task_id, fence, question, "asks in");
      await waitForAnswer(task_id);
    }
    await demo.wait(WORKING_MS);
    const submitted = is_rework ? rework : result;
    await call("update_task", { task_id, fence, status: "review", comment: submitted });
    demo.say(who, `moves ${demo.label(task_id)} to review: ${submitted}`);
  }

  for (;;) {
    const { task, lease, comments } = await call<Next>("next_task", { lease_seconds: LEASE_SECONDS });
    if (task && lease) {
      demo.say(
        who,
        `takes ${demo.label(task.id)} ${task.title} for ${LEASE_SECONDS} s${crashes ? ", and crashes" : ""}`,
        crashes,
      );
      if (crashes) return;
      const { result } = workFor(task.title);
      const is_rework = comments.some(({ content }) => content === result);
      await work(task.id, task.title, lease.fence, is_rework);
    } else await checkInbox();
  }
}
