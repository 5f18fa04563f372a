import { hash } from "node:crypto";
import type { Encoding } from "./content-encoding.ts";

/** Returns the strong entity tag of an answer's text. Each encoding of the text has its own tag (RFC 9110, section 8.8.3.3). */
export const toEntityTag = (text: string | Uint8Array, encoding: Encoding | null = null): string =>
  encodedTag(`"${hash("sha256", text, "base64url")}"`, encoding);

/** Returns the tag of the encoded text, given the tag of the text itself. */
export const encodedTag = (tag: string, encoding: Encoding | null): string =>
  encoding ? `${tag.slice(0, -1)}-${encoding}"` : tag;

/**
 * Matches `"tag-br"`, and also `W/"tag-br"`, into which a proxy changes the tag when it encodes an answer itself. The tag is a
 * digest: of an answer in Base64, or of a task's file in hexadecimal digits.
 */
const ENTITY_TAG = /^(?:W\/)?"([\w-]{43}|[\da-f]{64})(?:-(?:br|gzip))?"$/;

/**
 * Finds a tag in an If-None-Match header that belongs to the same text as `tag`, in any encoding, else returns null. The caller
 * must answer with the tag that the client sent, because a cache only updates what it stored under that tag.
 */
export function findMatchingTag(header: string | undefined, tag: string): string | null {
  if (header === undefined) return null;
  if (header.trim() === "*") return tag;
  const text = digestOf(tag);
  const sent = header.split(",").map((part) => part.trim());
  return sent.find((candidate) => text !== undefined && digestOf(candidate) === text) ?? null;
}

/** A strong tag. Proxies turn the tags of texts that they encode into weak tags, and a weak tag does not allow a write. */
const STRONG_TAG = /^"([\w-]{43})(?:-(?:br|gzip))?"$/;

/** Returns whether an If-Match header contains one of the current tags, in any encoding, or `*` (RFC 9110, section 13.1.1). */
export function isListedTag(header: string, tags: readonly string[]): boolean {
  if (header.trim() === "*") return true;
  const current = tags.map(digestOf);
  return header.split(",").some((part) => current.includes(STRONG_TAG.exec(part.trim())?.[1] ?? ""));
}

const digestOf = (tag: string): string | undefined => ENTITY_TAG.exec(tag)?.[1];
