/** `Prefer: respond-async` (RFC 7240), alone or among others. */
export const prefersAsync = (headers: Headers): boolean => /(^|,)\s*respond-async\s*(;|,|$)/i.test(headers.get("prefer") ?? "");
