import { NEXT_CURSOR } from "@board/core/lists/page";

/** The headers of an answer that is a page of a list: where the next page is (RFC 8288), while there is one. */
export function linkHeaders(value: unknown, request_url: string, base_url: string | null): Record<string, string> {
  const cursor = typeof value === "object" && value !== null ? (value as { [NEXT_CURSOR]?: string | null })[NEXT_CURSOR] : null;
  if (!cursor) return {};
  const { pathname, searchParams } = new URL(request_url);
  for (const name of ["offset", "page"]) searchParams.delete(name);
  searchParams.set("cursor", cursor);
  return { Link: `<${base_url ?? ""}${pathname}?${searchParams.toString()}>; rel="next"` };
}
