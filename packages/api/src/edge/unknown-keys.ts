import * as z from "zod";

type Path = readonly (string | number)[];

/** Yields the path of each key of the input that the schema ignores, in the order of the input. */
export function* findUnknownKeys(schema: z.ZodType, input: unknown, path: Path = []): Generator<Path> {
  if (typeof input !== "object" || input === null) return;
  const inner = unwrap(schema);
  if (inner instanceof z.ZodUnion) {
    const option = optionOf(inner.options as z.ZodType[], input);
    if (option) yield* findUnknownKeys(option, input, path);
  } else if (inner instanceof z.ZodArray && Array.isArray(input)) {
    for (const [index, item] of input.entries()) yield* findUnknownKeys(inner.element as z.ZodType, item, [...path, index]);
  } else if (inner instanceof z.ZodRecord) {
    for (const [key, value] of Object.entries(input)) yield* findUnknownKeys(inner.valueType as z.ZodType, value, [...path, key]);
  } else if (inner instanceof z.ZodObject && !Array.isArray(input)) {
    for (const [key, value] of Object.entries(input)) {
      const field = Object.hasOwn(inner.shape, key) ? (inner.shape[key] as z.ZodType) : null;
      if (field) yield* findUnknownKeys(field, value, [...path, key]);
      else if (!inner.def.catchall) yield [...path, key];
    }
  }
}

/** Returns the schema of what the client sends, without wrappers for null, defaults and conversions. */
function unwrap(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault)
    return unwrap(schema.unwrap() as z.ZodType);
  if (!(schema instanceof z.ZodPipe)) return schema;
  // A conversion accepts any value, so if it comes first, only the schema after it describes what the client sends.
  const { in: from, out } = schema;
  return unwrap((from instanceof z.ZodTransform ? out : from) as z.ZodType);
}

/** Chooses the option of a union that allows the literals in the input and ignores the fewest keys. */
function optionOf(options: readonly z.ZodType[], input: object): z.ZodType | undefined {
  const allowed = options.filter((option) => !contradicts(unwrap(option), input));
  const countOf = (option: z.ZodType) => [...findUnknownKeys(option, input)].length;
  const counted = (allowed.length > 0 ? allowed : options).map((option) => ({ option, count: countOf(option) }));
  return counted.toSorted((one, other) => one.count - other.count)[0]?.option;
}

const contradicts = (option: z.ZodType, input: object): boolean =>
  option instanceof z.ZodObject &&
  Object.entries(option.shape).some(([key, field]) => {
    const literal = unwrap(field as z.ZodType);
    return literal instanceof z.ZodLiteral && Object.hasOwn(input, key) && !literal.values.has(input[key as keyof typeof input]);
  });
