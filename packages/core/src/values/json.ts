/** Thrown if JSON.stringify meets a RawJson, which it could only print as a quoted string. */
class RawJsonError extends TypeError {
  constructor() {
    super("RawJson must be serialized with toJson");
  }
}

/**
 * JSON text that is sent exactly as it was received. Parsing and serializing it would change big integers, escapes and the order
 * of keys. (JavaScript's JSON.rawJSON accepts only primitives.)
 */
export class RawJson {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }

  toJSON(): never {
    throw new RawJsonError();
  }
}

/** Works like JSON.stringify, but also accepts RawJson. Most values contain no RawJson and take a single JSON.stringify. */
export function toJson(value: unknown): string {
  if (value instanceof RawJson) return value.text;
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (!(error instanceof RawJsonError)) throw error;
    return Array.isArray(value) ? `[${value.map(toJson).join(",")}]` : objectToJson(value as object);
  }
}

function objectToJson(value: object): string {
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${toJson(member)}`).join(",")}}`;
}
