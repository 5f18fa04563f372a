const MASK = "********";
const MIN_PARTIAL_LENGTH = 8;

/** Masks a token to show it: eight stars and its last four characters, or only stars when it is short. */
export function maskToken(token: string | null): string | null {
  if (token === null) return null;
  return token.length < MIN_PARTIAL_LENGTH ? MASK : MASK + token.slice(-4);
}
