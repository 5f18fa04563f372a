import { randomInt } from "node:crypto";
import { crc32 } from "node:zlib";

const PREFIX = "bk_";
const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const RANDOM_CHARS = 37;
const CHECKSUM_CHARS = 6;
const FORM = /^bk_[0-9A-Za-z]{43}$/;
const SHOWN_CHARS = PREFIX.length + 6;

/** Creates a key. It has 37 random characters and a checksum of six characters, which lets scanners recognize a leaked key. */
export function mintKey(): string {
  const random = Array.from({ length: RANDOM_CHARS }, () => ALPHABET[randomInt(ALPHABET.length)]).join("");
  return `${PREFIX}${random}${checksumOf(random)}`;
}

/** Returns the beginning of a key, by which people recognize the key in a list. */
export const shownPrefix = (key: string): string => key.slice(0, SHOWN_CHARS);

/** Returns whether a credential has the prefix of a key. */
export const isKey = (token: string): boolean => token.startsWith(PREFIX);

/** Checks the form and the checksum of a key. A mistyped or truncated key is rejected without a look-up. */
export const isWellFormedKey = (token: string): boolean => {
  const random = token.slice(PREFIX.length, -CHECKSUM_CHARS);
  return FORM.test(token) && token.endsWith(checksumOf(random));
};

function checksumOf(random: string): string {
  let rest = crc32(random);
  let text = "";
  for (let at = 0; at < CHECKSUM_CHARS; at += 1) {
    text = ALPHABET[rest % ALPHABET.length]! + text;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return text;
}
