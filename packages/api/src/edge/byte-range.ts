import type { ByteRange } from "@board/core/context/file-storage";

/**
 * A single range. A request for several ranges gets the whole file, because no client of files needs an answer in several parts.
 */
const RANGE = /^bytes=(\d{0,15})-(\d{0,15})$/;

/**
 * Returns the part of a file that a request asks for, or null for the whole file. "unsatisfiable" means that the file ends before
 * the part. If-Range must contain the tag of this version, because a part of an older version cannot be continued.
 */
export function requestedRange(headers: Headers, size: number, tag: string): ByteRange | "unsatisfiable" | null {
  const [, first, last] = RANGE.exec(headers.get("range")?.trim() ?? "") ?? [];
  if (first === undefined || last === undefined || (first === "" && last === "")) return null;
  const condition = headers.get("if-range");
  if (condition !== null && condition !== tag) return null;
  if (first === "")
    return size === 0 || Number(last) === 0 ? "unsatisfiable" : { start: Math.max(0, size - Number(last)), end: size };
  const start = Number(first);
  if (last !== "" && Number(last) < start) return null;
  return start >= size ? "unsatisfiable" : { start, end: last === "" ? size : Math.min(size, Number(last) + 1) };
}
