import type { ByteRange } from "@board/core/context/file-storage";

/**
 * A single range. Several ranges would need an answer with several parts, which no client of files asks for, so the whole file is
 * sent.
 */
const RANGE = /^bytes=(\d{0,15})-(\d{0,15})$/;

/**
 * The part of a file that a request asks for. Null means the whole file, and "unsatisfiable" that the file ends before the part
 * begins. If-Range must contain the tag of this version, because a part of an older version cannot be continued.
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
