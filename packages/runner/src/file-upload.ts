import { createHash } from "node:crypto";
import { ApiError, type Client, ConnectionError } from "@board/client";

/** Larger content is uploaded separately, since a request that contains it would be too large. */
const INLINE_BYTES = 262_144;

export interface NewFile {
  name: string;
  content_type: string;
  content: Buffer;
  run_id: string;
}

/** Adds a file to a task. Calling it again with the same key is harmless. */
export async function addFile(
  client: Client,
  { url, agent_token }: { url: string; agent_token: string },
  path: { board_id: string; task_id: string },
  { content, ...file }: NewFile,
  key: string,
): Promise<void> {
  const create = (body: { content: string } | { size: number; sha256: string }) =>
    client.post("/api/v1/boards/{board_id}/tasks/{task_id}/artifacts", {
      params: { path, header: { "Idempotency-Key": key } },
      body: { ...file, ...body },
    });
  if (content.length <= INLINE_BYTES) return void (await create({ content: content.toString("base64") }));
  const sha256 = createHash("sha256").update(content).digest("hex");
  const { id: artifact_id, upload } = await create({ size: content.length, sha256 });
  if (!upload) return;
  // The agent's token is sent only to the service, and not to a bucket.
  const headers = { ...upload.headers, ...(upload.authenticated ? { "X-Agent-Token": agent_token } : {}) };
  const target = new URL(upload.url, url);
  await put(target, headers, content).catch((error: unknown) => {
    // Fetch throws a TypeError when the network fails. The caller repeats what failed with a ConnectionError.
    throw error instanceof TypeError ? new ConnectionError(target.origin, error) : error;
  });
  const item = { board_id: path.board_id, artifact_id };
  await client.post("/api/v1/boards/{board_id}/artifacts/{artifact_id}/complete", { params: { path: item } });
}

async function put(target: URL, headers: Record<string, string>, content: Buffer): Promise<void> {
  const answer = await fetch(target, { method: "PUT", headers, body: new Uint8Array(content) });
  if (!answer.ok) throw new ApiError(answer, (await answer.text()).slice(0, 200));
}
