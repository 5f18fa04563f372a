/**
 * Estimates the number of a model's tokens in a text: four ASCII characters count as one token, and so does each other character.
 */
export const countTokens = (text: string): number =>
  Math.ceil(Array.from(text).reduce((sum, char) => sum + (char.charCodeAt(0) < 128 ? 0.25 : 1), 0));
