import { ID_GUIDANCE } from "../guidance/hints.ts";
import type { OpenApiDocument } from "../runtime.ts";

type Json = Record<string, unknown>;
type Parameter = Json & { name: string };
interface Operation extends Json {
  summary: string;
  tags: string[];
  description?: string;
  parameters?: (Parameter | { $ref: string })[];
  responses: Record<string, unknown>;
}
interface Document extends OpenApiDocument {
  info: Json & { description: string };
  tags: { name: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Json>; securitySchemes: Json; [kind: string]: Json };
}

const DESCRIPTION = `The operations that are made for you. Send your token as \`X-Agent-Token\`. Choose an operation by \`x-llm-intent\`, \`x-when-to-use\` and \`x-routing-policy\`. ${ID_GUIDANCE}.`;

/** The single response that replaces all error responses of an operation. */
const REFUSED = {
  description:
    "The request was refused: 401 token, 403 and 409 see the detail, 404 not there or not yours, 422 invalid, 429 wait.",
  content: {
    "application/json": {
      schema: {
        type: "object",
        required: ["detail"],
        properties: { detail: { description: "A text, an object with a `message`, or a list of invalid fields." } },
      },
    },
  },
};

/** Hints that repeat other hints, or that apply to all operations. Only the complete document contains them. */
const LEFT_OUT = [
  "x-when-not-to-use",
  "x-prerequisites",
  "x-side-effects",
  "x-required-actor",
  "x-routing-policy-examples",
] as const;

/**
 * Shortens the document of an agent, because a model reads it: parameters are shared, each operation has one error response, and
 * fields that the agent only receives have only names and types. What a request may contain is still described in full.
 */
export function compactDocument(built: OpenApiDocument, role: string): OpenApiDocument {
  const document = built as Document;
  const { components } = document;
  const parameters = new Map<string, string>();
  document.info.description = DESCRIPTION;
  document.tags = document.tags.filter(({ name }) => name === "agent" || name === role);
  document["security"] = [{ agent: [] }];
  components.securitySchemes = { agent: components.securitySchemes["agent"] };
  components["responses"] = { Refused: REFUSED };
  for (const operation of operationsOf(document)) shortenOperation(operation, role, parameters);
  components["parameters"] = Object.fromEntries([...parameters].map(([name, text]) => [name, JSON.parse(text)]));
  visit(document, shortenSchema);
  components.schemas = pickSchemas(document);
  const sent = reachableSchemas(
    operationsOf(document).map(({ requestBody }) => requestBody),
    components.schemas,
  );
  for (const [name, schema] of Object.entries(components.schemas)) if (!sent.has(name)) visit(schema, shortenReceived);
  return document;
}

const operationsOf = ({ paths }: Document): Operation[] => Object.values(paths).flatMap((item) => Object.values(item));

function shortenOperation(operation: Operation, role: string, parameters: Map<string, string>): void {
  for (const hint of LEFT_OUT) delete operation[hint];
  delete operation["security"];
  operation.tags = operation.tags.filter((tag) => tag === "agent" || tag === role);
  if (String(operation["x-negative-guidance"]) === ID_GUIDANCE) delete operation["x-negative-guidance"];
  if (operation.description === `${operation.summary}.`) delete operation.description;
  const successes = Object.entries(operation.responses).filter(([status]) => status.startsWith("2"));
  for (const [, answer] of successes) delete (answer as Json)["headers"];
  operation.responses = { ...Object.fromEntries(successes), "4XX": { $ref: "#/components/responses/Refused" } };
  if (operation.parameters)
    operation.parameters = operation.parameters.map((parameter) =>
      "name" in parameter ? share(parameter, parameters) : parameter,
    );
}

/** Returns a reference to a shared parameter, or the parameter itself if a different parameter has the same name. */
function share(parameter: Parameter, shared: Map<string, string>): Parameter | { $ref: string } {
  const { name } = parameter;
  const text = JSON.stringify(withoutSecondDescription(parameter));
  if (!shared.has(name)) shared.set(name, text);
  return shared.get(name) === text ? { $ref: `#/components/parameters/${name}` } : parameter;
}

function withoutSecondDescription({ schema, ...parameter }: Parameter): Json {
  const { description: _description, ...rest } = schema as Json;
  return { ...parameter, schema: rest };
}

/** Writes nullable types in their short form, and removes details of times that a model does not need. */
function shortenSchema(schema: Json): void {
  shortenNullable(schema);
  if (schema["format"] !== "date-time") return;
  delete schema["pattern"];
  delete schema["examples"];
}

function shortenNullable(schema: Json): void {
  const { anyOf } = schema;
  if (!Array.isArray(anyOf) || anyOf.length !== 2) return;
  const [type, none] = anyOf as Json[];
  if (none?.["type"] !== "null" || typeof type?.["type"] !== "string" || "enum" in type) return;
  delete schema["anyOf"];
  Object.assign(schema, { ...type, ...schema, type: [type["type"], "null"] });
}

/** Keeps only names and types. A model recognizes an id by the name of its field. */
function shortenReceived(schema: Json): void {
  if (typeof schema["description"] === "string") delete schema["description"];
  if (schema["format"] === "uuid") delete schema["format"];
}

const pickSchemas = ({ paths, components: { schemas } }: Document): Record<string, Json> => {
  const used = reachableSchemas(paths, schemas);
  return Object.fromEntries(Object.entries(schemas).filter(([name]) => used.has(name)));
};

/** Returns the names of all schemas that a part of the document refers to, either directly or through other schemas. */
function reachableSchemas(part: unknown, schemas: Record<string, Json>, found = new Set<string>()): Set<string> {
  visit(part, ({ $ref }) => {
    const name = typeof $ref === "string" ? /^#\/components\/schemas\/(.+)$/.exec($ref)?.[1] : undefined;
    if (name === undefined || found.has(name)) return;
    found.add(name);
    reachableSchemas(schemas[name], schemas, found);
  });
  return found;
}

/** Calls `change` with an object and all objects inside it. */
function visit(node: unknown, change: (node: Json) => void): void {
  if (typeof node !== "object" || node === null) return;
  change(node as Json);
  for (const child of Object.values(node)) visit(child, change);
}
