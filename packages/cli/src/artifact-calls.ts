import { createHash } from "node:crypto";
import { createReadStream, type Stats } from "node:fs";
import { open, readFile, rename, rm, stat } from "node:fs/promises";
import path from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as pause } from "node:timers/promises";
import { type Artifact, ApiError, ConnectionError, type NewArtifact } from "@board/client";
import { delayAfter, isTransient } from "@board/runner/retry";
import { UsageError } from "./failure.ts";
import type { Session } from "./session.ts";

/** A larger file is uploaded separately, since a request with its content would be too large. */
const INLINE_BYTES = 262_144;

/** The types that the service stores as they were sent. It detects all other types from the content. */
const TYPES: Readonly<Record<string, string>> = {
  ".md": "text/markdown",
  ".csv": "text/csv",
  ".diff": "text/x-diff",
  ".patch": "text/x-diff",
  ".json": "application/json",
};

interface TaskPath {
  board_id: string;
  task_id: string;
}

/** Adds a file to a task. Small files are sent in the request, larger files are uploaded. */
export async function attachFile(session: Session, task: TaskPath, file: string): Promise<Artifact> {
  const found = await requireFile(file);
  const name = path.basename(file);
  const content_type = TYPES[path.extname(name).toLowerCase()] ?? "application/octet-stream";
  const create = (body: object) =>
    session.client.post("/api/v1/boards/{board_id}/tasks/{task_id}/artifacts", {
      params: { path: task },
      body: { name, content_type, ...body },
    });
  if (found.size <= INLINE_BYTES) return withoutUpload(await create({ content: (await readFile(file)).toString("base64") }));
  const artifact = await create({ size: found.size, sha256: await hashOf(file) });
  await upload(session, artifact, file);
  const item = { board_id: task.board_id, artifact_id: artifact.id };
  return session.client.post("/api/v1/boards/{board_id}/artifacts/{artifact_id}/complete", { params: { path: item } });
}

const withoutUpload = ({ upload: _upload, ...artifact }: NewArtifact): Artifact => artifact;

async function requireFile(file: string): Promise<Stats> {
  const found = await stat(file).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`${file} cannot be read: ${error.code}`);
  });
  if (!found.isFile()) throw new UsageError(`${file} is not a file.`);
  return found;
}

async function hashOf(file: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(file), hash);
  return hash.digest("hex");
}

/**
 * Sends the content to the service or to the bucket. The bucket must not get the caller's token. Sending it again is harmless,
 * because the artifact gets its content only when it is completed.
 */
async function upload(session: Session, { upload: plan, size }: NewArtifact, file: string): Promise<void> {
  if (!plan) return;
  const headers = { ...plan.headers, ...(plan.authenticated ? credentialsOf(session) : {}), "content-length": String(size) };
  const url = new URL(plan.url, `${session.url}/`);
  await withRetries(async () => {
    const body = Readable.toWeb(createReadStream(file));
    await requireOk(await request(url, { method: "PUT", headers, body, duplex: "half" } as unknown as RequestInit));
  });
}

interface ArtifactPath {
  board_id: string;
  artifact_id: string;
}

/** Saves the content of an artifact. An existing file is replaced only when the whole content has arrived. */
export async function saveContent(session: Session, artifact: ArtifactPath, file: string): Promise<void> {
  const body = await openContent(session, artifact);
  const part = `${file}.part-${process.pid}`;
  const handle = await open(part, "wx").catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`${file} cannot be written: ${error.code}`);
  });
  try {
    await pipeline(body, handle.createWriteStream());
    await rename(part, file);
  } finally {
    await rm(part, { force: true });
  }
}

/**
 * Opens the content of an artifact at the service, or in the bucket to which it redirects. The bucket must not get the caller's
 * token.
 */
export async function openContent(session: Session, { board_id, artifact_id }: ArtifactPath): Promise<Readable> {
  const address = new URL(`${session.url}/api/v1/boards/${board_id}/artifacts/${artifact_id}/content`);
  const content = await withRetries(async () => {
    const answer = await request(address, { headers: credentialsOf(session), redirect: "manual" });
    const location = answer.status === 302 ? answer.headers.get("location") : null;
    return requireOk(location === null ? answer : await request(new URL(location)));
  });
  return content.body === null ? Readable.from([]) : Readable.fromWeb(content.body as never);
}

/** The client uses the same limits for calls of the API. */
const RETRIES = 3;
const MAX_DELAY_MS = 60_000;

/** Repeats requests after transient errors. The client does this only for calls of the API. */
async function withRetries<T>(attempt: () => Promise<T>): Promise<T> {
  for (let repeat = 0; ; repeat++) {
    try {
      return await attempt();
    } catch (error) {
      const delay = delayAfter(error, repeat);
      if (repeat === RETRIES || !isTransient(error) || delay > MAX_DELAY_MS) throw error;
      await pause(delay);
    }
  }
}

const request = (url: URL, init?: RequestInit): Promise<Response> =>
  fetch(url, init).catch((error: unknown) => {
    // Fetch throws a TypeError when the network fails.
    throw error instanceof TypeError ? new ConnectionError(url.origin, error) : error;
  });

const credentialsOf = ({ identity, token }: Session): Record<string, string> =>
  identity.type === "agent" ? { "x-agent-token": token } : { authorization: `Bearer ${token}` };

async function requireOk(response: Response): Promise<Response> {
  if (response.ok) return response;
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.includes("json") ?? false;
  throw new ApiError(response, isJson ? JSON.parse(text) : text.slice(0, 200));
}
