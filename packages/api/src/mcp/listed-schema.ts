import * as z from "zod";

export type JsonSchema = Record<string, unknown>;

/** Keywords that a model needs. All other keywords would cost tokens, and the service checks them anyway. */
const INPUT_KEYWORDS = ["type", "enum", "items"] as const;

/** Removes the ids of schemas, because a schema with an id becomes a reference, and not all clients resolve references. */
function toJsonSchema(schema: z.ZodObject, io: "input" | "output"): z.core.JSONSchema.JSONSchema {
  const metadata = z.registry<z.core.GlobalMeta>();
  return z.toJSONSchema(schema, { io, unrepresentable: "any", metadata });
}

/** Returns the schema of a tool's arguments for the list of tools. */
export function toInputSchema(schema: z.ZodObject, about: Readonly<Record<string, string | undefined>>): JsonSchema {
  const { properties = {}, required } = toJsonSchema(schema, "input");
  const shown = Object.entries(properties).map(([name, property]) => [
    name,
    { ...toShortSchema(property), ...(about[name] ? { description: about[name] } : {}) },
  ]);
  return { type: "object", properties: Object.fromEntries(shown), ...(required?.length ? { required } : {}) };
}

function toShortSchema(property: unknown): JsonSchema {
  if (typeof property !== "object" || property === null) return {};
  const schema = property as JsonSchema;
  if (Array.isArray(schema["anyOf"])) return toNullable(toShortSchema(schema["anyOf"][0]));
  const kept = INPUT_KEYWORDS.filter((name) => name in schema);
  return Object.fromEntries(kept.map((name) => [name, name === "items" ? toShortSchema(schema[name]) : schema[name]]));
}

/** Allows null to clear a field with a single value. For a nullable list or object, null means the same as leaving it out. */
const toNullable = (schema: JsonSchema): JsonSchema => {
  const { type, items } = schema;
  return typeof type !== "string" || items || type === "object" ? schema : { ...schema, type: [type, "null"] };
};

/** Returns the types of a result's fields without descriptions, because the API describes the same fields in its operations. */
export function toOutputSchema(schema: z.ZodObject): JsonSchema {
  const { properties = {} } = toJsonSchema(schema, "output");
  const shown = Object.entries(properties).map(([name, property]) => [name, toType(property as JsonSchema)]);
  return { type: "object", properties: Object.fromEntries(shown) };
}

function toType({ type, anyOf }: JsonSchema): JsonSchema {
  if (type !== undefined) return { type };
  const types = Array.isArray(anyOf) ? anyOf.flatMap((one) => (one as JsonSchema)["type"] ?? []) : [];
  return types.length > 0 ? { type: types } : {};
}
