/** What the scripted model knows of a conversation, whatever API the client speaks. */
export interface Conversation {
  /** Names of the tools that the client offers to the model. */
  tools: readonly string[];
  /** The tools that were called, each with the answer as the client passed it on. */
  results: readonly { tool: string; text: string }[];
}

export type Decision = { call: string; input: Record<string, unknown> } | { say: string };

/** The model says this once the board has no task left. */
export const NOTHING_LEFT = "Nothing is left.";

/** Claude Code lists the tools of a server by name only. This tool of the client loads their schemas. */
const TOOL_SEARCH = "ToolSearch";
const USED = ["next_task", "comment_on_task", "update_task"];

/** Follows the instructions of the endpoint: takes a task, reports, submits, and takes the next one. */
export function decide({ tools, results }: Conversation): Decision {
  const call = (name: string, input: Record<string, unknown> = {}): Decision => {
    const tool = tools.find((offered) => isTool(offered, name));
    if (tool) return { call: tool, input };
    if (!tools.includes(TOOL_SEARCH) || results.some(({ tool }) => tool === TOOL_SEARCH))
      return { say: `There is no tool ${name}, only ${tools.join(", ")}.` };
    const query = `select:${USED.map((used) => `mcp__board__${used}`).join(",")}`;
    return { call: TOOL_SEARCH, input: { query, max_results: USED.length } };
  };
  const taken = results.filter(({ tool }) => isTool(tool, "next_task")).map(({ text }) => findTask(text));
  const task = taken.at(-1);
  const last = results.findLast(({ tool }) => tool !== TOOL_SEARCH);
  if (!last) return call("next_task");
  if (!task) return { say: `${NOTHING_LEFT} ${last.text}` };
  if (taken.slice(0, -1).some((earlier) => earlier?.task_id === task.task_id))
    return { say: `The task comes back: ${results.map(({ text }) => text).join("\n")}` };
  if (isTool(last.tool, "next_task")) return call("comment_on_task", { ...task, content: "I have begun." });
  if (isTool(last.tool, "comment_on_task"))
    return call("update_task", { ...task, status: "review", comment: "Done and checked." });
  return call("next_task");
}

/** Checks whether the first task was taken and nothing has been done on it yet. */
export const hasJustBegun = ({ results }: Conversation): boolean =>
  results.length > 0 && isTool(results.at(-1)!.tool, "next_task") && !results.some(({ tool }) => isTool(tool, "comment_on_task"));

/** Checks whether an offered tool is the named one. Clients add a prefix to the name, such as in `mcp__board__next_task`. */
const isTool = (offered: string, name: string): boolean => offered.endsWith(name);

/** Finds the task and the fence in an answer of `next_task`. Some clients pass on the text of the answer, others its data. */
function findTask(text: string): { task_id: string; fence: number } | null {
  const [task_id] = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(text) ?? [];
  const [, fence] = /fence\W+(\d+)/.exec(text) ?? [];
  return task_id && fence ? { task_id, fence: Number(fence) } : null;
}
