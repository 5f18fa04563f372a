// The memory of a board: an agent stores a value under a key and a fact in words, and finds both again.
// Run: AGENT_TOKEN=… BOARD=… node examples/memory.ts
import { createClient } from "@board/client";

const url = process.env.BOARD_URL ?? "http://127.0.0.1:8000";
const agent = createClient({ url, agent_token: process.env.AGENT_TOKEN! });
const path = { board_id: process.env.BOARD! };

async function remember(key: string, value: unknown): Promise<void> {
  await agent.post("/api/v1/agent/boards/{board_id}/memory", { params: { path }, body: { key, value, tags: ["stock"] } });
}

/** Returns the value of a key. Entries are only appended and are listed newest first, so the first entry of a key has its value. */
async function recall(key: string): Promise<unknown> {
  const query = { key, limit: 1 };
  const { items } = await agent.get("/api/v1/agent/boards/{board_id}/memory", { params: { path, query } });
  return items[0]?.value;
}

await remember("lamps", { hall: 12 });
await remember("lamps", { hall: 12, cellar: 2 });
console.log("lamps:", JSON.stringify(await recall("lamps")));

const content = "The cellar is locked on Sundays; the key hangs in the office.";
await agent.post("/api/v1/agent/boards/{board_id}/memory", { params: { path }, body: { content, tags: ["place"] } });

// A search matches the beginnings of words: "lock" finds "locked".
const query = { q: "cellar lock" };
for await (const entry of agent.list("/api/v1/agent/boards/{board_id}/memory", { params: { path, query } }))
  console.log("found:", entry.content);
