import { api } from "../api.ts";
import type { Artifact } from "../types.ts";
import { saveAs } from "../ui/save.ts";

const LIMIT = 200;
export const LIST = "/api/v1/boards/{board_id}/tasks/{task_id}/artifacts";
export const ITEM = "/api/v1/boards/{board_id}/artifacts/{artifact_id}";

export const readFiles = (board_id: string, task_id: string, signal: AbortSignal) =>
  api.get(LIST, { params: { path: { board_id, task_id }, query: { limit: LIMIT } }, signal });

/** Reads the bytes with the person's token, which a link would not send. */
export async function readContent({ board_id, id }: Artifact, signal?: AbortSignal): Promise<Blob> {
  // The typed client knows only paths that answer with JSON.
  const path = `${ITEM}/content` as typeof ITEM;
  const params = { path: { board_id, artifact_id: id } };
  return (await api.get(path, { params, parseAs: "blob", ...(signal ? { signal } : {}) })) as unknown as Blob;
}

export const saveFile = async (file: Artifact): Promise<void> => saveAs(file.name, await readContent(file));

export const removeFile = ({ board_id, id }: Artifact) => api.delete(ITEM, { params: { path: { board_id, artifact_id: id } } });

const toHex = (bytes: ArrayBuffer): string =>
  [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/** Announces the file, sends its bytes to the address in the response, and has the service check them. */
export async function addFile(board_id: string, task_id: string, file: File): Promise<void> {
  const sha256 = toHex(await crypto.subtle.digest("SHA-256", await file.arrayBuffer()));
  const body = { name: file.name, size: file.size, sha256, ...(file.type ? { content_type: file.type } : {}) };
  const { id, status, upload } = await api.post(LIST, { params: { path: { board_id, task_id } }, body });
  if (status === "ready" || !upload) return;
  const path = { board_id, artifact_id: id };
  if (upload.authenticated)
    await api.put(`${ITEM}/content`, {
      params: { path },
      headers: upload.headers,
      body: file as never,
      bodySerializer: (bytes: unknown) => bytes as Blob,
    });
  else {
    const answer = await fetch(upload.url, { method: "PUT", headers: upload.headers, body: file });
    if (!answer.ok) throw new Error(`The storage answered ${answer.status}.`);
  }
  await api.post(`${ITEM}/complete`, { params: { path } });
}

const UNITS = ["bytes", "KB", "MB", "GB"];
const STEP = 1024;

export function toSize(bytes: number): string {
  let [size, unit] = [bytes, 0];
  while (size >= STEP && unit < UNITS.length - 1) [size, unit] = [size / STEP, unit + 1];
  return `${unit === 0 ? size : size.toFixed(1)} ${UNITS[unit]}`;
}
