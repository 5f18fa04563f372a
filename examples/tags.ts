// Tags, and an agent that only takes tasks with its tag.
// Run: BOARD_TOKEN=… AGENT_TOKEN=… BOARD=… node examples/tags.ts
import { createClient } from "@board/client";

const url = process.env.BOARD_URL ?? "http://127.0.0.1:8000";
const you = createClient({ url, token: process.env.BOARD_TOKEN! });
const agent = createClient({ url, agent_token: process.env.AGENT_TOKEN! });
const path = { board_id: process.env.BOARD! };

/** Returns the id of the tag with this name, and creates the tag if the organization does not have it yet. */
async function ensureTag(name: string, color: string): Promise<string> {
  for await (const tag of you.list("/api/v1/tags")) if (tag.name === name) return tag.id;
  return (await you.post("/api/v1/tags", { body: { name, color } })).id;
}

const words = await ensureTag("Words", "2f6feb");
const repairs = await ensureTag("Repairs", "d1242f");
for (const [title, tag_ids] of [
  ["Repair the bell", [repairs]],
  ["Describe the new lamps", [words]],
] as const)
  await you.post("/api/v1/boards/{board_id}/tasks", { params: { path }, body: { title, tag_ids: [...tag_ids] } });

const { task } = await agent.post("/api/v1/agent/tasks/next", { body: { tags: ["words"] } });
console.log(`Taken: ${task?.title}, tags ${task?.tags.map(({ name }) => name).join()}`);
