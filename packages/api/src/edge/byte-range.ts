import type { ByteRange } from "@board/core/context/file-storage";

/** One range. Several would need an answer with parts, which no client of files asks for, so they get the whole file. */
const RANGE = /^bytes=(\d{0,15})-(\d{0,15})$/;

/**
 * The part of a file that a request asks for; null for the whole file, and "unsatisfiable" when the file ends before the part
 * begins. A part of an older version is not continued, so If-Range must name the tag of this one.
 */
export function requestedRange(headers: Headers, size: number, tag: string): ByteRange | "unsatisfiable" | null {
  const [, first, last] = RANGE.exec(headers.get("range")?.trim() ?? "") ?? [];
  if (first === undefined || last === undefined || (first === "" && last === "")) return null;
  const condition = headers.get("if-range");
  if (condition !== null && condition !== tag) return null;
  if (first === "") return Number(last) === 0 ? "unsatisfiable" : { start: Math.max(0, size - Number(last)), end: size };
  const start = Number(first);
  if (last !== "" && Number(last) < start) return null;
  return start >= size ? "unsatisfiable" : { start, end: last === "" ? size : Math.min(size, Number(last) + 1) };
}
