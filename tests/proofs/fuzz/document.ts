import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

/** The part of JSON Schema that the document uses. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  pattern?: string;
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  not?: Schema;
  items?: Schema;
  minItems?: number;
  maxItems?: number;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
}

interface Content {
  $ref?: string;
  content?: Record<string, { schema?: Schema }>;
}

interface DocumentedOperation {
  tags: string[];
  security: Record<string, unknown>[];
  parameters?: { name: string; in: "path" | "query" | "header"; required?: boolean; schema: Schema }[];
  requestBody?: Content;
  responses: Record<string, Content>;
}

export interface OpenApi {
  paths: Record<string, Record<string, DocumentedOperation>>;
  components: { schemas: Record<string, Schema>; responses: Record<string, Content> };
}

/** An operation as the document describes it. */
export interface Operation {
  /** `GET /api/v1/boards/{board_id}` */
  name: string;
  method: string;
  path: string;
  params: Record<string, Schema>;
  query: Record<string, Schema>;
  headers: Record<string, Schema>;
  /** The names of required query parameters. */
  required: string[];
  body: Schema | null;
  /** Whether it accepts a body of any kind. */
  any_body: boolean;
  users: boolean;
  agents: boolean;
  tags: string[];
  statuses: number[];
}

export interface Api {
  operations: Operation[];
  /** Resolves a reference to its schema. */
  resolve(schema: Schema): Schema;
  has(method: string, path: string): boolean;
  /** Returns the operation of a request, or null. */
  operationAt(method: string, pathname: string): Operation | null;
  /** Returns the problem of an operation's answer, or null. */
  findMismatch(operation: Operation, status: number, media: string | null, text: string): string | null;
}

export function readApi(document: OpenApi): Api {
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  ajv.addSchema(document, "api");
  const validators = new Map<string, ValidateFunction>();
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => toOperation(method.toUpperCase(), path, operation)),
  );
  const patterns = operations.map((operation) => ({ operation, pattern: patternOf(operation.path) }));
  const contentOf = ({ method, path }: Operation, status: number) => {
    const response = document.paths[path]![method.toLowerCase()]!.responses[String(status)];
    // Answers that many operations share are components.
    const shared = response?.$ref && document.components.responses[response.$ref.split("/").at(-1)!];
    return (shared || response)?.content ?? {};
  };

  function validatorOf(operation: Operation, status: number, media: string): ValidateFunction {
    const schema = contentOf(operation, status)[media]!.schema ?? {};
    const at = ["paths", operation.path, operation.method.toLowerCase(), "responses", String(status), "content", media, "schema"];
    const pointer = schema.$ref ?? `#/${at.map(escapePointer).join("/")}`;
    const known = validators.get(pointer);
    if (known) return known;
    const validate = ajv.compile({ $ref: `api${pointer}` });
    validators.set(pointer, validate);
    return validate;
  }

  return {
    operations,
    resolve: (schema) => {
      const name = schema.$ref?.split("/").at(-1);
      return name === undefined ? schema : document.components.schemas[name]!;
    },
    has: (method, path) => document.paths[path]?.[method.toLowerCase()] !== undefined,
    operationAt(method, pathname) {
      const path = pathname.replace(/(?<=.)\/$/, "");
      const found = patterns.filter(({ operation, pattern }) => operation.method === method && pattern.test(path));
      // Fixed segments precede placeholders.
      return found.toSorted((a, b) => placeholdersIn(a.operation) - placeholdersIn(b.operation))[0]?.operation ?? null;
    },
    findMismatch(operation, status, media, text) {
      if (!operation.statuses.includes(status)) return `status ${status} is not documented`;
      const documented = Object.keys(contentOf(operation, status));
      const bare = media?.split(";")[0]!.trim() ?? "none";
      if (!documented.includes(bare)) return `media type ${bare} is not documented for ${status}, but ${documented.join()}`;
      // Texts such as Markdown have no schema to fit.
      if (bare !== "application/json" && bare !== "text/event-stream") return null;
      const validate = validatorOf(operation, status, bare);
      const wrong = bare === "text/event-stream" ? findFrameMismatch(validate, text) : findJsonMismatch(validate, text);
      return wrong && `does not fit the schema of ${status}: ${wrong}`;
    },
  };
}

function toOperation(method: string, path: string, operation: DocumentedOperation): Operation {
  const schemasIn = (where: "path" | "query" | "header") =>
    Object.fromEntries(
      (operation.parameters ?? [])
        .filter((parameter) => parameter.in === where)
        .map((parameter) => [parameter.name, parameter.schema]),
    );
  const accepts = (scheme: string) => operation.security.some((requirement) => scheme in requirement);
  const content = operation.requestBody?.content ?? {};
  return {
    name: `${method} ${path}`,
    method,
    path,
    params: schemasIn("path"),
    query: schemasIn("query"),
    headers: schemasIn("header"),
    required: (operation.parameters ?? [])
      .filter((parameter) => parameter.in === "query" && parameter.required)
      .map(({ name }) => name),
    body: content["application/json"]?.schema ?? null,
    any_body: "*/*" in content,
    users: accepts("user"),
    agents: accepts("agent"),
    tags: operation.tags,
    statuses: Object.keys(operation.responses).map(Number),
  };
}

const placeholdersIn = ({ params }: Operation) => Object.keys(params).length;
const escapePointer = (part: string) => encodeURIComponent(part.replaceAll("~", "~0").replaceAll("/", "~1"));
const patternOf = (path: string) => new RegExp(`^${path.replaceAll(".", "\\.").replaceAll(/\{\w+\}/g, "[^/]+")}$`);

function findJsonMismatch(validate: ValidateFunction, text: string): string | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return `not JSON: ${text.slice(0, 200)}`;
  }
  if (validate(value)) return null;
  const [first] = validate.errors ?? [];
  return `${first?.instancePath} ${first?.message} ${JSON.stringify(first?.params)}`;
}

/** Finds the problem of a stream. Its schema describes the data of its events. */
function findFrameMismatch(validate: ValidateFunction, text: string): string | null {
  if (!text.endsWith("\n\n")) return `the last frame is cut off: ${text.slice(-200)}`;
  for (const frame of text.split("\n\n").slice(0, -1)) {
    const invalid = frame.split("\n").find((line) => !/^(id|event|data|retry): |^:/.test(line));
    if (invalid !== undefined) return `not a line of a stream: ${invalid.slice(0, 200)}`;
    const data = /^data: (.*)$/m.exec(frame)?.[1];
    const wrong = data === undefined ? null : findJsonMismatch(validate, data);
    if (wrong) return wrong;
  }
  return null;
}
