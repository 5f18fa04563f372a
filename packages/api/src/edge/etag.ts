import { hash } from "node:crypto";
import type { Encoding } from "./content-encoding.ts";

/** Returns the strong entity tag of an answer's text. Each encoding of the text has its own tag (RFC 9110, section 8.8.3.3). */
export const toEntityTag = (text: string | Uint8Array, encoding: Encoding | null = null): string =>
  encodedTag(`"${hash("sha256", text, "base64url")}"`, encoding);

/** Returns the tag of the encoded text, given the tag of the text itself. */
export const encodedTag = (tag: string, encoding: Encoding | null): string =>
  encoding ? `${tag.slice(0, -1)}-${encoding}"` : tag;

/** Matches `"tag-br"`, and also `W/"tag-br"`, which a proxy creates when it encodes an answer itself. */
const ENTITY_TAG = /^(?:W\/)?"([\w-]{43})(?:-(?:br|gzip))?"$/;

/**
 * Finds a tag in an If-None-Match header that stands for the same text as `tag`, in any encoding, else null. The caller answers
 * with the tag that the client sent, because a cache updates only what it stored under that tag.
 */
export function findMatchingTag(header: string | undefined, tag: string): string | null {
  if (header === undefined) return null;
  if (header.trim() === "*") return tag;
  const text = digestOf(tag);
  const sent = header.split(",").map((part) => part.trim());
  return sent.find((candidate) => digestOf(candidate) === text) ?? null;
}

/** A strong tag. Proxies weaken the tags of texts that they encode, and a weak tag does not permit a write. */
const STRONG_TAG = /^"([\w-]{43})(?:-(?:br|gzip))?"$/;

/** Whether an If-Match header names one of the current tags, in any encoding, or `*` (RFC 9110, section 13.1.1). */
export function isListedTag(header: string, tags: readonly string[]): boolean {
  if (header.trim() === "*") return true;
  const current = tags.map(digestOf);
  return header.split(",").some((part) => current.includes(STRONG_TAG.exec(part.trim())?.[1] ?? ""));
}

const digestOf = (tag: string): string | undefined => ENTITY_TAG.exec(tag)?.[1];
