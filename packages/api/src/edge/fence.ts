import * as z from "zod";
import { lazyObject } from "@board/core/values/wire";

const NAME = "X-Task-Fence";

/** The header as the OpenAPI document shows it. */
export const FenceHeader = lazyObject(() => ({
  [NAME]: z.int().optional().describe("Fence of the caller's lease; the write is refused when it is not the current one."),
}));

/**
 * Returns the fence that a write sends, or null. A text that is not a number is converted to a number that no fence has, so the
 * write is refused.
 */
export function fenceOf(headers: Headers): number | null {
  const text = headers.get(NAME);
  if (text === null) return null;
  return /^\d{1,10}$/.test(text.trim()) ? Number(text) : Number.NaN;
}
