// An agent that uses the tools of the Model Context Protocol, as a model would, with the SDK from npm.
// Run: AGENT_TOKEN=… node examples/mcp-agent.ts
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const url = process.env.BOARD_URL ?? "http://127.0.0.1:8000";
const mcp = new Client({ name: "example", version: "1.0.0" });
await mcp.connect(
  new StreamableHTTPClientTransport(new URL("/mcp", url), {
    requestInit: { headers: { Authorization: `Bearer ${process.env.AGENT_TOKEN}` } },
  }),
);

// What a model gets first: how to work with the board, and the tools.
console.log(mcp.getInstructions()?.split("\n", 1)[0]);
const { tools } = await mcp.listTools();
console.log(tools.map(({ name }) => name).join(", "));

async function call<T>(name: string, args: Record<string, unknown> = {}): Promise<T> {
  const answer = await mcp.callTool({ name, arguments: args });
  // A refusal is text for the model: JSON with the reason and what to do next.
  if (answer.isError) throw new Error(JSON.stringify(answer.content));
  return answer.structuredContent as T;
}

interface Next {
  task: { id: string; title: string } | null;
  lease: { fence: number } | null;
}

const { task, lease } = await call<Next>("next_task");
if (task && lease) {
  const target = { task_id: task.id, fence: lease.fence };
  await call("comment_on_task", { ...target, content: "12 so far" });
  await call("update_task", { ...target, status: "review", comment: "14 lamps" });
  console.log(`Submitted: ${task.title}`);
}
await mcp.close();
