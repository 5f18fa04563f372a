import type { MiddlewareHandler } from "hono";
import { compress, selectEncoding } from "./content-encoding.ts";
import { encodedTag, findMatchingTag, toEntityTag } from "./etag.ts";
import type { Env } from "../runtime.ts";

/** Media types that are encoded. Streams are never encoded, because the encoder would hold back their events. */
const ENCODED_TYPES = /^(?:application\/(?:problem\+)?json|text\/(?:html|css|javascript))\b/;
/** Smaller answers fit into one packet even if they are not encoded. */
export const MIN_ENCODED_BYTES = 1_024;

/** Answers that already have their final encoding and tag. */
const complete = new WeakSet<Response>();

/** Marks an answer as final, so that it is not changed any more. */
export function markComplete(response: Response): Response {
  complete.add(response);
  return response;
}

/** The texts of JSON answers. They are stored here, because reading them from the responses would take time. */
const texts = new WeakMap<Response, string>();

/** Creates a response from JSON that is already serialized. */
export function jsonResponse(text: string, status: number, headers: Record<string, string>): Response {
  const response = new Response(text, { status, headers: { "content-type": "application/json", ...headers } });
  texts.set(response, text);
  return response;
}

/**
 * Encodes long answers as the client prefers, adds an ETag to JSON answers of reads, and answers 304 if the client already has
 * the answer (docs/reference/conventions.md#representations).
 */
export const representation: MiddlewareHandler<Env> = async (c, next) => {
  await next();
  const answer = c.res;
  if (complete.has(answer)) return;
  if (!ENCODED_TYPES.test(answer.headers.get("content-type") ?? "") || answer.headers.has("content-encoding")) return;
  const known = texts.get(answer);
  const text = known ?? (await answer.text());
  const { headers, status } = answer;
  const bytes = Buffer.byteLength(text);
  c.var.slot.charge(bytes);
  const isLong = bytes >= MIN_ENCODED_BYTES;
  if (isLong) headers.append("Vary", "Accept-Encoding");
  const encoding = isLong ? selectEncoding(c.req.header("accept-encoding")) : null;
  const { method } = c.req;
  const replace = (body: string | Buffer<ArrayBuffer> | null, newStatus = status) => {
    // If `c.res` were not cleared first, Hono would copy the headers of the old answer to the new one.
    c.res = undefined;
    c.res = new Response(body, { status: newStatus, headers });
  };

  if ((method === "GET" || method === "HEAD") && hasTag(answer)) {
    // An operation may set an ETag that is not derived from the text.
    const chosen = headers.get("ETag");
    const tag = chosen === null ? toEntityTag(text, encoding) : encodedTag(chosen, encoding);
    const match = findMatchingTag(c.req.header("if-none-match"), tag);
    headers.set("ETag", match ?? tag);
    // Only private caches may store the answer. It depends on the caller, and a shared cache does not tell callers apart by
    // X-Agent-Token.
    headers.set("Cache-Control", "private, no-cache");
    if (match !== null) {
      headers.delete("content-type");
      return replace(null, 304);
    }
  }
  if (encoding) {
    const tag = headers.get("ETag");
    // The ETag of a read already includes the encoding. The ETag of a write does not, so the encoding is added.
    if (tag !== null && method === "PATCH") headers.set("ETag", encodedTag(tag, encoding));
    headers.set("Content-Encoding", encoding);
    replace(method === "HEAD" ? null : await compress(encoding, text));
  } else if (known === undefined) replace(text);
};

/** Returns whether an answer gets an ETag. Only JSON answers do, and only if the operation did not set other caching. */
const hasTag = ({ status, headers }: Response): boolean =>
  status === 200 &&
  headers.get("content-type") === "application/json" &&
  !headers.has("cache-control") &&
  !headers.has("set-cookie");
