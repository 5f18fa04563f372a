import { MAX_SEARCHED_CHARS } from "../schema/search-vector.ts";
import { truncate } from "../values/text.ts";

/**
 * Returns the part of a body that can be searched, up to a limit. For JSON, these are the strings and numbers, because escapes
 * and punctuation would become part of words. For other text, it is the beginning.
 */
export function toSearchText(kind: "json" | "text", text: string, value: unknown): string {
  const parts = kind === "text" ? [text] : collectValues(value);
  // PostgreSQL cannot store NUL or half a surrogate pair.
  return truncate(parts.join(" "), MAX_SEARCHED_CHARS).replaceAll("\0", " ").toWellFormed();
}

/** Collects the strings and numbers in order, up to the limit. The code is not recursive, because a body can be deeply nested. */
function collectValues(value: unknown): string[] {
  const found: string[] = [];
  const open = [[value].values()];
  let chars = 0;
  while (open.length > 0 && chars < MAX_SEARCHED_CHARS) {
    const { value: next, done } = open.at(-1)!.next();
    if (done) open.pop();
    else if (typeof next === "object" && next !== null) open.push(Object.values(next).values());
    else if (typeof next === "string" || typeof next === "number") {
      const text = truncate(String(next), MAX_SEARCHED_CHARS);
      found.push(text);
      chars += text.length + 1;
    }
  }
  return found;
}
