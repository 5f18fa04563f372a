import { api } from "../api.ts";
import type { AuditEvent } from "../types.ts";
import { saveAs } from "../ui/save.ts";
import type { AuditQuery } from "./actions.ts";

const LIMIT = 50;
/** The cast is necessary because the typed client knows only paths that answer with JSON. */
const EXPORT = "/api/v1/audit/export" as "/api/v1/audit";
export type ExportFormat = "csv" | "ndjson";
type ExportQuery = AuditQuery & { format: ExportFormat; after?: number };

export const PAGE = LIMIT;

/** Reads the entries, newest first. */
export const readAudit = (query: AuditQuery, signal: AbortSignal): AsyncGenerator<AuditEvent> =>
  api.list("/api/v1/audit", { params: { query: { ...query, limit: LIMIT + 1 } }, signal });

/** Saves the entries as a file. */
export async function saveAudit(format: ExportFormat, since: string | undefined): Promise<void> {
  const parts: Blob[] = [];
  let after = 0;
  for (const newest = await readNewest(); after < newest; ) {
    const query: ExportQuery = { format, after, ...(since ? { since } : {}) };
    const part = (await api.get(EXPORT, { params: { query }, parseAs: "blob" })) as unknown as Blob;
    parts.push(part);
    const last = lastSeq(format, await part.text());
    if (last <= after) break;
    after = last;
  }
  saveAs(`audit.${format}`, new Blob(parts));
}

/** Reads the position of the newest entry. Where answers are not streamed, an export ends before it and continues in the next part. */
async function readNewest(): Promise<number> {
  const { items } = await api.get("/api/v1/audit", { params: { query: { limit: 1 } } });
  return items[0]?.seq ?? 0;
}

/** Returns the position of the last entry in a part of an export; 0 if it has none. */
function lastSeq(format: ExportFormat, text: string): number {
  const line = text.trimEnd().split("\n").at(-1)!;
  if (format === "csv") return Number.parseInt(line) || 0;
  return line === "" ? 0 : (JSON.parse(line) as AuditEvent).seq;
}

/** Yields all entries, oldest first, as they arrive, so that a long log is never in memory as a whole. */
export async function* readExport(signal: AbortSignal): AsyncGenerator<AuditEvent> {
  const newest = await readNewest();
  for (let after = 0, last = 0; ; after = last) {
    for await (const event of readPart(after, signal)) {
      last = event.seq;
      yield event;
    }
    if (last >= newest || last === after) return;
  }
}

async function* readPart(after: number, signal: AbortSignal): AsyncGenerator<AuditEvent> {
  const query: ExportQuery = { format: "ndjson", after };
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
