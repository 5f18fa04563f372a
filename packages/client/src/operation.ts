import type { FetchOptions } from "openapi-fetch";
import type { paths } from "./api.ts";

/** What the document says of an operation, as types: where it is, what it takes, what it answers. */

export type Verb = "get" | "post" | "put" | "patch" | "delete";

type Content<Answer> = Answer extends { content: infer Media } ? Media : never;

/** What an operation takes: parameters, a body, and what fetch takes beside them. Required where it requires any of it. */
export type Input<Operation> =
  {} extends FetchOptions<Operation> ? [input?: FetchOptions<Operation>] : [input: FetchOptions<Operation>];

/** The JSON that an operation answers when it worked; never for a stream. */
export type Output<Operation> = Operation extends { responses: infer Answers }
  ? Content<Answers[keyof Answers & (200 | 202)]> extends { "application/json": infer Json }
    ? Json
    : never
  : never;

/** The data of a stream's events; never for any other operation. */
export type Data<Operation> = Operation extends { responses: { 200: infer Answer } }
  ? Content<Answer> extends { "text/event-stream": infer Event }
    ? Event
    : never
  : never;

/** The places where a verb has an answer. */
export type Path<V extends Verb> = { [P in keyof paths]: [Output<paths[P][V]>] extends [never] ? never : P }[keyof paths];

/** The places where something can be followed. */
export type StreamPath = { [P in keyof paths]: [Data<paths[P]["get"]>] extends [never] ? never : P }[keyof paths];
