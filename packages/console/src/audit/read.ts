import { api } from "../api.ts";
import type { AuditEvent } from "../types.ts";
import { saveAs } from "../ui/save.ts";
import type { AuditQuery } from "./actions.ts";

const LIMIT = 50;
/** The cast is necessary because the typed client knows only paths that answer with JSON. */
const EXPORT = "/api/v1/audit/export" as "/api/v1/audit";
export type ExportFormat = "csv" | "ndjson";
type ExportQuery = AuditQuery & { format: ExportFormat };

export const PAGE = LIMIT;

/** Reads the entries, newest first. */
export const readAudit = (query: AuditQuery, signal: AbortSignal): AsyncGenerator<AuditEvent> =>
  api.list("/api/v1/audit", { params: { query: { ...query, limit: LIMIT + 1 } }, signal });

export async function saveAudit(format: ExportFormat, since: string | undefined): Promise<void> {
  const query: ExportQuery = { format, ...(since ? { since } : {}) };
  const bytes = (await api.get(EXPORT, { params: { query }, parseAs: "blob" })) as unknown as Blob;
  saveAs(`audit.${format}`, bytes);
}

/** Yields all entries, oldest first, as they arrive, so that a long log is never in memory as a whole. */
export async function* readExport(signal: AbortSignal): AsyncGenerator<AuditEvent> {
  const query: ExportQuery = { format: "ndjson" };
  const stream = (await api.get(EXPORT, { params: { query }, parseAs: "stream", signal })) as unknown as ReadableStream<
    Uint8Array<ArrayBuffer>
  >;
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    const lines = (rest + value).split("\n");
    rest = lines.pop()!;
    for (const line of lines) yield JSON.parse(line) as AuditEvent;
  }
  if (rest) throw new Error("The log ended in the middle of an entry. Try again.");
}
