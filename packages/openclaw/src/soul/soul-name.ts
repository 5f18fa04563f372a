/** The name of a soul: the handle of its author, and a slug that is unique among the author's souls. */
export interface SoulName {
  handle: string;
  slug: string;
}

const MAX_NAME = 200;

/** Returns whether a text can be a handle or a slug. */
export const isSoulName = (text: string): boolean => text.length <= MAX_NAME && /^[A-Za-z0-9][A-Za-z0-9_-]*$/.test(text);
