const STARS = "********";
const MASKED_FROM = 8;

/** A token as it is shown: eight stars and the last four characters; only stars when it is too short to show a part of. */
export function maskToken(token: string | null): string | null {
  if (token === null) return null;
  return token.length < MASKED_FROM ? STARS : STARS + token.slice(-4);
}
