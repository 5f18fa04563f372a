import type { OpenContent } from "@board/core/artifact/content";
import { requestedRange } from "./byte-range.ts";
import { findMatchingTag } from "./etag.ts";
import { markComplete } from "./representation.ts";

/**
 * Makes a browser save the file instead of opening it in a page of the service. A name that is not ASCII is sent as RFC 6266
 * defines.
 */
export function dispositionOf({ name }: { name: string }): string {
  const ascii = name.replaceAll(/[^\x20-\x7E]|["\\%]/g, "_");
  const encoded = encodeURIComponent(name.toWellFormed()).replaceAll(/['()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`);
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`;
}

/** Even if a browser ignores the disposition, a file cannot run scripts or load anything, and has no origin. */
const POLICY = "sandbox; default-src 'none'";

const isTextType = (type: string) => type.startsWith("text/") || type === "application/json";

/** Answers with a file or a part of it, with 304 if the client already has it, or with the address where the file is stored. */
export async function answerFile({ artifact, address, read }: OpenContent, headers: Headers): Promise<Response> {
  const { size, sha256, content_type } = artifact;
  const tag = `"${sha256}"`;
  const common = { "cache-control": "private, no-cache", "x-content-type-options": "nosniff", "content-security-policy": POLICY };
  if (address !== null)
    return markComplete(
      new Response(null, { status: 302, headers: { ...common, "cache-control": "private, no-store", location: address } }),
    );
  if (findMatchingTag(headers.get("if-none-match") ?? undefined, tag) !== null)
    return markComplete(new Response(null, { status: 304, headers: { ...common, etag: tag } }));
  const range = requestedRange(headers, size, tag);
  const shared = { ...common, etag: tag, "accept-ranges": "bytes" };
  if (range === "unsatisfiable")
    return markComplete(new Response(null, { status: 416, headers: { ...shared, "content-range": `bytes */${size}` } }));
  const { start, end } = range ?? { start: 0, end: size };
  const body = ReadableStream.from(await read({ start, end }));
  const described = {
    ...shared,
    "content-type": isTextType(content_type) ? `${content_type}; charset=utf-8` : content_type,
    "content-disposition": dispositionOf(artifact),
    "content-length": String(end - start),
    ...(range ? { "content-range": `bytes ${start}-${end - 1}/${size}` } : {}),
  };
  return markComplete(new Response(body, { status: range ? 206 : 200, headers: described }));
}
