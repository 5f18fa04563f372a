import { randomUUID } from "node:crypto";

/** JSON text that goes into an answer as it is: parsing and printing would change big integers, escapes and key order. */
export class RawJson {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** JSON.stringify that lets RawJson through untouched. */
export function toJson(value: unknown): string {
  const raw: string[] = [];
  const mark = randomUUID();
  const text = JSON.stringify(value, (_key, part: unknown) =>
    part instanceof RawJson ? `${mark}:${raw.push(part.text) - 1}` : part,
  );
  if (raw.length === 0) return text;
  return text.replace(new RegExp(`"${mark}:(\\d+)"`, "g"), (_match, index: string) => raw[Number(index)]!);
}
