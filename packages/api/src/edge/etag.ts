import { hash } from "node:crypto";
import type { Encoding } from "./content-encoding.ts";

/** The strong entity tag of an answer's text. Each encoding of it has its own (RFC 9110, section 8.8.3.3). */
export const toEntityTag = (text: string | Uint8Array, encoding: Encoding | null = null): string =>
  encodedTag(`"${hash("sha256", text, "base64url")}"`, encoding);

/** The tag of an encoding of what `tag` stands for. */
export const encodedTag = (tag: string, encoding: Encoding | null): string =>
  encoding ? `${tag.slice(0, -1)}-${encoding}"` : tag;

/** `"tag-br"`, also `W/"tag-br"`, which a proxy makes when it encodes an answer itself. */
const ENTITY_TAG = /^(?:W\/)?"([\w-]{43})(?:-(?:br|gzip))?"$/;

/**
 * Returns the tag of an If-None-Match header that stands for the same text as `tag`, in any encoding, else null. The caller
 * answers with the tag that was sent, because a cache updates only what it stored under that tag.
 */
export function findMatchingTag(header: string | undefined, tag: string): string | null {
  if (header === undefined) return null;
  if (header.trim() === "*") return tag;
  const text = digestOf(tag);
  const sent = header.split(",").map((part) => part.trim());
  return sent.find((candidate) => digestOf(candidate) === text) ?? null;
}

/** A strong tag. Proxies make weak ones of texts that they have encoded; those prove nothing for a write. */
const STRONG_TAG = /^"([\w-]{43})(?:-(?:br|gzip))?"$/;

/** Whether an If-Match header names one of the current tags, in any encoding, or `*` (RFC 9110, section 13.1.1). */
export function isListedTag(header: string, tags: readonly string[]): boolean {
  if (header.trim() === "*") return true;
  const current = tags.map(digestOf);
  return header.split(",").some((part) => current.includes(STRONG_TAG.exec(part.trim())?.[1] ?? ""));
}

const digestOf = (tag: string): string | undefined => ENTITY_TAG.exec(tag)?.[1];
