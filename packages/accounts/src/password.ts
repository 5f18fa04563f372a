import { APIError } from "better-auth/api";

export const MIN_PASSWORD = 12;
export const MAX_PASSWORD = 128;

/** Words and character sequences from which the most common long passwords are made. */
const COMMON = (
  "password passwort qwertyuiop qwertzuiop asdfghjkl zxcvbnm 1234567890 0987654321 1q2w3e4r5t6y 1qaz2wsx3edc qazwsxedc iloveyou " +
  "letmein welcome administrator changeme trustno1 sunshine princess football baseball superman dragon monkey master shadow " +
  "michael jordan charlie liverpool computer internet unknown default secret login admin access test abc abcdefghijkl"
).split(" ");

const MAX_REST = 4;

export function requireUncommonPassword(password: string): void {
  if (isCommonPassword(password))
    throw new APIError("BAD_REQUEST", {
      code: "PASSWORD_TOO_COMMON",
      message: "This password is among the first that are guessed.",
    });
}

/**
 * Returns whether a password is among those that guessers try first: common words with a few other characters, a short group of
 * characters over and over, or a sequence such as `abcdef…`.
 */
export function isCommonPassword(password: string): boolean {
  const plain = password.toLowerCase();
  if (isRepetition(plain)) return true;
  let rest = plain;
  for (const word of COMMON) rest = rest.replaceAll(word, "");
  return rest.length <= MAX_REST || isRun(plain);
}

/** Returns whether the text repeats one group of at most four characters. */
const isRepetition = (text: string): boolean =>
  [1, 2, 3, 4].some((size) => text.replaceAll(text.slice(0, size), "").length <= MAX_REST - 1);

/** Returns whether each character follows the one before it, such as `abcdef…` or `987654…`. */
function isRun(text: string): boolean {
  const steps = Array.from(text.slice(1), (char, index) => char.charCodeAt(0) - text.charCodeAt(index));
  return Math.max(...steps) - Math.min(...steps) === 0 && Math.abs(steps[0]!) <= 1;
}
