import { NEXT_CURSOR } from "@board/core/lists/page";

/** Returns the headers for a page of a list: a link to the next page (RFC 8288), if there is a next page. */
export function linkHeaders(value: unknown, request_url: string, base_url: string | null): Record<string, string> {
  const cursor = typeof value === "object" && value !== null ? (value as { [NEXT_CURSOR]?: string | null })[NEXT_CURSOR] : null;
  if (!cursor) return {};
  const { pathname, searchParams } = new URL(request_url);
  for (const name of ["offset", "page"]) searchParams.delete(name);
  searchParams.set("cursor", cursor);
  return { Link: `<${base_url ?? ""}${pathname}?${searchParams.toString()}>; rel="next"` };
}
