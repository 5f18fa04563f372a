/** Types derived from the OpenAPI document: paths, inputs and outputs of operations. */
import type { FetchOptions } from "openapi-fetch";
import type { paths } from "./api.ts";

export type HttpMethod = "get" | "post" | "put" | "patch" | "delete";

type Content<Answer> = Answer extends { content: infer Media } ? Media : never;

/** The input of an operation: parameters, a body, and options of fetch. Optional if the operation requires none of them. */
export type Input<Operation> =
  {} extends FetchOptions<Operation> ? [input?: FetchOptions<Operation>] : [input: FetchOptions<Operation>];

/** The JSON of a successful response; `never` for a stream. */
export type Output<Operation> = Operation extends { responses: infer Answers }
  ? Content<Answers[keyof Answers & (200 | 202)]> extends { "application/json": infer Json }
    ? Json
    : never
  : never;

/** The data of a stream's events; `never` for any other operation. */
export type EventData<Operation> = Operation extends { responses: { 200: infer Answer } }
  ? Content<Answer> extends { "text/event-stream": infer Event }
    ? Event
    : never
  : never;

/** The paths that support a method. */
export type PathOf<V extends HttpMethod> = { [P in keyof paths]: [Output<paths[P][V]>] extends [never] ? never : P }[keyof paths];

/** The paths of streams. */
export type StreamPath = { [P in keyof paths]: [EventData<paths[P]["get"]>] extends [never] ? never : P }[keyof paths];

/** The paths of lists that have pages. */
export type ListPath = { [P in keyof paths]: Output<paths[P]["get"]> extends { items: unknown[] } ? P : never }[keyof paths];

/** An item of a list. */
export type Item<P extends ListPath> = Output<paths[P]["get"]> extends { items: (infer Entry)[] } ? Entry : never;
