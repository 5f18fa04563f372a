import * as z from "zod";

export type JsonSchema = Record<string, unknown>;

/** Keywords that a model needs. The others cost tokens, and the service checks their rules anyway. */
const INPUT_KEYWORDS = ["type", "enum", "items"] as const;

/** Schemas with an id would be references, which not all clients resolve: their ids are left out. */
function toJsonSchema(schema: z.ZodObject, io: "input" | "output"): z.core.JSONSchema.JSONSchema {
  const metadata = z.registry<z.core.GlobalMeta>();
  return z.toJSONSchema(schema, { io, unrepresentable: "any", metadata });
}

/** The arguments of a tool as the list of tools shows them. */
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

/** Null clears a field of one value. Where a list or an object is nullable, null counts as absent. */
const toNullable = (schema: JsonSchema): JsonSchema => {
  const { type, items } = schema;
  return typeof type !== "string" || items || type === "object" ? schema : { ...schema, type: [type, "null"] };
};

/** The fields of a result with their types only. They are documented with the operations of the API that return the same. */
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
