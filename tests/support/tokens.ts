/** An estimate of the tokens of a text: four letters of English make one, any other character counts as one. */
export const countTokens = (text: string): number =>
  Math.ceil(Array.from(text).reduce((sum, char) => sum + (char.charCodeAt(0) < 128 ? 0.25 : 1), 0));
