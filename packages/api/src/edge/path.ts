/** Returns the names of the `{placeholders}` of a path. */
export const placeholderNames = (path: string): string[] => [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!);

/** Converts `{name}` to Hono's `:name`. */
export const toHonoPath = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ":$1");

/** Converts a path with placeholders to a regular expression that matches whole request paths. */
export const toPathRegExp = (path: string): RegExp =>
  new RegExp(`^${path.replaceAll(/[.*+?^$()|[\]\\]/g, "\\$&").replaceAll(/\{\w+\}/g, "[^/]+")}$`);

/** Sorts fixed segments before placeholders at the same position, because Hono takes the first match. */
export function sortFixedSegmentsFirst<E extends { paths: readonly string[] }>(endpoints: readonly E[]): E[] {
  const rank = ({ paths }: E) => paths[0]!.replaceAll(/\{\w+\}/g, "\uffff");
  return endpoints.toSorted((a, b) => (rank(a) < rank(b) ? -1 : rank(a) > rank(b) ? 1 : 0));
}
