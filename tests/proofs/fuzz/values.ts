import fc from "fast-check";
import type { Api, Schema } from "./document.ts";
import { kindOf, IdPlaceholder, type Source } from "./id-pool.ts";
import { FIELD_VALUES } from "./field-values.ts";

/** JSON text that JSON.stringify cannot produce. */
export class RawJson {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** The sources of ids, mostly existing rows. */
const SOURCES = fc.oneof(
  { weight: 88, arbitrary: fc.constant<Source>("own") },
  { weight: 4, arbitrary: fc.constant<Source>("gone") },
  { weight: 5, arbitrary: fc.constant<Source>("foreign") },
  { weight: 3, arbitrary: fc.constant<Source>("unknown") },
);

export const idPlaceholders = (kind: string, sources: fc.Arbitrary<Source> = SOURCES): fc.Arbitrary<IdPlaceholder> =>
  fc.tuple(fc.nat(1_000), sources).map(([nth, source]) => new IdPlaceholder(kind, nth, source));

/** Longer texts would not find more problems. */
const LONGEST = 2_000;
const USUAL = 24;

/** Generates well-formed text, rarely of the maximum length. */
function texts(min: number, max: number): fc.Arbitrary<string> {
  const size = { minLength: min, maxLength: Math.min(max, Math.max(min, USUAL)) };
  // Trimming a blank text would make it shorter than allowed.
  const isLongEnough = (text: string) => text.trim().length >= min && text.length <= max;
  return fc.oneof(
    { weight: 8, arbitrary: fc.string({ ...size, unit: "grapheme-ascii" }).filter(isLongEnough) },
    { weight: 3, arbitrary: fc.string({ ...size, unit: "grapheme" }).filter(isLongEnough) },
    { weight: 1, arbitrary: fc.constant("é".repeat(Math.min(max, LONGEST))) },
  );
}

const INSTANTS = fc.oneof(
  fc.date({ min: new Date("1900-01-01"), max: new Date("9999-12-31"), noInvalidDate: true }).map((date) => date.toISOString()),
  fc.constantFrom("2026-11-20", "2026-11-20T10:24:09", "2026-11-20T10:24:09+02:00", "2028-02-29T00:00:00Z"),
);

/** JSON of any shape for an object field. */
const ANYTHING = fc.jsonValue({ maxDepth: 3, noUnicodeString: false });
const OBJECTS = fc.dictionary(fc.string({ maxLength: 8, unit: "grapheme-ascii" }), ANYTHING, { maxKeys: 4 });

/** Generates values that fit a schema, also by field name. Ids are chosen when the request is sent. */
export function createValues(api: Api): (schema: Schema, name: string) => fc.Arbitrary<unknown> {
  const made = new Map<Schema, Map<string, fc.Arbitrary<unknown>>>();

  function values(schema: Schema, name: string): fc.Arbitrary<unknown> {
    const byName = made.get(schema) ?? new Map<string, fc.Arbitrary<unknown>>();
    made.set(schema, byName);
    const known = byName.get(name) ?? make(api.resolve(schema), name);
    byName.set(name, known);
    return known;
  }

  function make(schema: Schema, name: string): fc.Arbitrary<unknown> {
    const branches = schema.anyOf ?? schema.oneOf;
    if (branches)
      // Null is always possible but rarely interesting.
      return fc.oneof(...branches.map((branch) => ({ weight: branch.type === "null" ? 1 : 4, arbitrary: values(branch, name) })));
    if (schema.const !== undefined) return fc.constant(schema.const);
    if (schema.enum) return fc.constantFrom(...schema.enum);
    if (Array.isArray(schema.type)) return fc.oneof(...schema.type.map((type) => make({ ...schema, type }, name)));
    switch (schema.type) {
      case "string":
        return strings(schema, name);
      case "boolean":
        return FIELD_VALUES[name] ?? fc.boolean();
      case "null":
        return fc.constant(null);
      case "integer":
        return integers(schema);
      case "number":
        return fc.double({ min: schema.minimum ?? -1e6, max: schema.maximum ?? 1e6, noNaN: true });
      case "array":
        return arrays(schema, name);
      case "object":
        return objects(schema, name);
      default:
        return ANYTHING;
    }
  }

  function strings(schema: Schema, name: string): fc.Arbitrary<unknown> {
    const kind = kindOf(name);
    if (schema.format === "uuid" && kind) return idPlaceholders(kind);
    if (schema.format === "date-time") return INSTANTS;
    if (schema.pattern) return fc.stringMatching(new RegExp(schema.pattern));
    const { minLength = 0, maxLength = LONGEST } = schema;
    const words = FIELD_VALUES[name];
    return words
      ? fc.oneof({ weight: 9, arbitrary: words }, { weight: 1, arbitrary: texts(minLength, maxLength) })
      : texts(minLength, maxLength);
  }

  function integers({ minimum = -1_000, maximum = 1_000 }: Schema): fc.Arbitrary<number> {
    const usual = { min: Math.max(minimum, 0), max: Math.min(maximum, Math.max(minimum, 0) + 60) };
    return fc.oneof({ weight: 5, arbitrary: fc.integer(usual) }, { weight: 1, arbitrary: fc.constantFrom(minimum, maximum) });
  }

  function arrays({ items = {}, minItems = 0, maxItems = 200 }: Schema, name: string): fc.Arbitrary<unknown> {
    return fc.array(values(items, name), { minLength: minItems, maxLength: Math.min(maxItems, minItems + 3) });
  }

  function objects({ properties, required = [], additionalProperties }: Schema, name: string): fc.Arbitrary<unknown> {
    if (!properties) {
      const special = FIELD_VALUES[name];
      const inner = typeof additionalProperties === "object" && Object.keys(additionalProperties).length > 0;
      const any = inner ? fc.dictionary(fc.string({ maxLength: 8 }), values(additionalProperties, ""), { maxKeys: 3 }) : OBJECTS;
      return special ? fc.oneof(special, any) : any;
    }
    const possible = Object.entries(properties).filter(([, schema]) => !schema.not);
    const fields = possible.map(([field, schema]) =>
      required.includes(field)
        ? values(schema, field).map((value) => [[field, value]] as const)
        : // Short lists, above all of ids, since each element may break a rule of the whole.
          fc.oneof(
            { weight: kindOf(field) ? 9 : 2, arbitrary: fc.constant([] as const) },
            { weight: 1, arbitrary: values(schema, field).map((value) => [[field, value]] as const) },
          ),
    );
    return fc.tuple(...fields).map((parts) => Object.fromEntries(parts.flat()));
  }

  return values;
}
