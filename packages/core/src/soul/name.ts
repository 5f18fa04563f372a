/** What a soul is called: whose it is, and which of theirs. */
export interface SoulName {
  handle: string;
  slug: string;
}

const MAX_NAME = 200;

/** Whether a text can be a handle or a slug. */
export const isName = (text: string): boolean => text.length <= MAX_NAME && /^[A-Za-z0-9][A-Za-z0-9_-]*$/.test(text);
