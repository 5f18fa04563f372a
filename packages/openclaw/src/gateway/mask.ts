const MASK = "********";
const MIN_PARTIAL_LENGTH = 8;

/** The masked form of a token that is stored but cannot be read. */
export const UNREADABLE_MASK = MASK;

/** Masks a token to show it: eight stars and its last four characters, or only stars when it is short. */
export function maskToken(token: string | null): string | null {
  if (token === null) return null;
  return token.length < MIN_PARTIAL_LENGTH ? MASK : MASK + token.slice(-4);
}
