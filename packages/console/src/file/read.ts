import { ConnectionError } from "@board/client/error";
import { api } from "../api.ts";
import type { Artifact, NewArtifact } from "../types.ts";
import { saveAs } from "../ui/save.ts";

const LIMIT = 200;
export const LIST = "/api/v1/boards/{board_id}/tasks/{task_id}/artifacts";
export const ITEM = "/api/v1/boards/{board_id}/artifacts/{artifact_id}";

export const readFiles = (board_id: string, task_id: string, signal: AbortSignal) =>
  api.get(LIST, { params: { path: { board_id, task_id }, query: { limit: LIMIT } }, signal });

/** Reads a file's bytes by a request of the page, because a link to them would not send the person's token. */
export async function readContent({ board_id, id }: Artifact, signal?: AbortSignal): Promise<Blob> {
  // The cast is necessary because the typed client knows only paths that answer with JSON.
  const path = `${ITEM}/content` as typeof ITEM;
  const params = { path: { board_id, artifact_id: id } };
  const options = { params, ...(signal ? { signal } : {}) };
  try {
    return (await api.get(path, { ...options, parseAs: "blob" })) as unknown as Blob;
  } catch (error) {
    if (!(error instanceof ConnectionError) || signal?.aborted) throw error;
    // The service may have redirected to a bucket that failed. If the service itself is down, this request throws.
    await api.get(ITEM, options);
    throw storageError(SILENT);
  }
}

const SILENT = "did not answer, or does not allow this page";
const storageError = (what: string) => new Error(`The storage of files ${what}. Ask the person who runs the service.`);

export const saveFile = async (file: Artifact): Promise<void> => saveAs(file.name, await readContent(file));

export const removeFile = ({ board_id, id }: Pick<Artifact, "board_id" | "id">) =>
  api.delete(ITEM, { params: { path: { board_id, artifact_id: id } } });

const toHex = (bytes: ArrayBuffer): string =>
  [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");

async function hashOf(file: File): Promise<string> {
  // Browsers offer this only to pages that came over https or from the same machine.
  if (!isSecureContext) throw new Error("A file above 256 KB can only be sent from a page that was opened with https.");
  return toHex(await crypto.subtle.digest("SHA-256", await file.arrayBuffer()));
}

const toBase64 = (file: File): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve((reader.result as string).replace(/^[^,]*,/, ""));
    reader.onerror = () => reject(new Error("The browser cannot read the file."));
    reader.readAsDataURL(file);
  });

/** A file up to this size is sent in the request that announces it, which needs no storage of files. */
const INLINE_BYTES = 262_144;

/** Announces the file, sends its bytes to the address in the response, and has the service check them. */
export async function addFile(board_id: string, task_id: string, file: File): Promise<void> {
  const isInline = file.size <= INLINE_BYTES;
  const content = isInline ? { content: await toBase64(file) } : { size: file.size, sha256: await hashOf(file) };
  const body = { name: file.name, ...content, ...(file.type ? { content_type: file.type } : {}) };
  const announced = await api.post(LIST, { params: { path: { board_id, task_id } }, body });
  if (announced.status === "ready" || !announced.upload) return;
  try {
    const params = { path: { board_id, artifact_id: announced.id } };
    await sendBytes(announced.upload, params, file);
    await api.post(`${ITEM}/complete`, { params });
  } catch (error) {
    // If it were not removed, the file would count toward the storage limit for a day and look as if it were still being sent.
    await removeFile(announced).catch(() => undefined);
    throw error;
  }
}

type Upload = NonNullable<NewArtifact["upload"]>;

async function sendBytes(upload: Upload, params: { path: { board_id: string; artifact_id: string } }, file: File): Promise<void> {
  if (upload.authenticated) {
    const bodySerializer = (bytes: unknown) => bytes as Blob;
    await api.put(`${ITEM}/content`, { params, headers: upload.headers, body: file as never, bodySerializer });
    return;
  }
  // The bucket is another origin. Unless its CORS rule allows this page, the browser hides the reason of a refusal.
  const answer = await fetch(upload.url, { method: "PUT", headers: upload.headers, body: file }).catch(() => null);
  if (answer?.ok) return;
  throw storageError(answer === null ? SILENT : `answered ${answer.status}`);
}

const UNITS = ["bytes", "KB", "MB", "GB"];
const STEP = 1024;

export function toSize(bytes: number): string {
  let [size, unit] = [bytes, 0];
  while (size >= STEP && unit < UNITS.length - 1) [size, unit] = [size / STEP, unit + 1];
  return `${unit === 0 ? size : size.toFixed(1)} ${UNITS[unit]}`;
}
