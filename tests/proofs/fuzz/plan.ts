import fc from "fast-check";
import type { Api, Operation, Schema } from "./document.ts";
import {
  hostileBodies,
  hostileHeaders,
  hostileQueryParts,
  hostileQueryValues,
  hostileSegments,
  hostileValues,
  brokenCredentials,
} from "./hostile.ts";
import { kindOf, IdPlaceholder, type Source } from "./id-pool.ts";
import { callersFor } from "./callers.ts";
import { createValues, idPlaceholders, RawJson } from "./values.ts";
import { FIELD_VALUES, ServerUrl } from "./field-values.ts";

/** A generated request. Ids of rows are filled in when it is sent. */
export interface RequestPlan {
  operation: Operation;
  method: string;
  /** The name of the caller. `credentials` replace the caller's own credentials. */
  caller: string;
  credentials: Record<string, string>;
  /** The row of the path, by its last placeholder. */
  row_id: IdPlaceholder;
  /** Segments to use instead of the row's ids. */
  segments: Record<string, string | IdPlaceholder>;
  query: [name: string, value: unknown][];
  /** Text to append to the query string. */
  more_query: string;
  headers: Record<string, string>;
  /** Whether the request is repeated with the entity tag of its answer. */
  revalidates: boolean;
  body: { value: unknown } | { raw: string | Uint8Array } | null;
}

export type Generator = (operation: Operation) => fc.Arbitrary<RequestPlan>;

const mostly = <T>(usual: fc.Arbitrary<T>, odd: fc.Arbitrary<T>, one_in: number) =>
  fc.oneof({ weight: one_in - 1, arbitrary: usual }, { weight: 1, arbitrary: odd });

/** Generates plans by operation. Half of them should succeed, and the others contain one or several mistakes. */
export function createGenerator(api: Api): Generator {
  const values = createValues(api);
  const made = new Map<Operation, fc.Arbitrary<RequestPlan>>();
  return (operation) => {
    const known =
      made.get(operation) ?? fc.oneof({ weight: 1, arbitrary: valid(operation) }, { weight: 1, arbitrary: invalid(operation) });
    made.set(operation, known);
    return known;
  };

  function valid(operation: Operation): fc.Arbitrary<RequestPlan> {
    return fc.record({
      operation: fc.constant(operation),
      method: fc.constant(operation.method),
      caller: callersFor(operation),
      credentials: fc.constant({}),
      row_id: placeOf(operation, fc.constant("own")),
      segments: fc.constant({}),
      query: queryOf(operation, 4),
      more_query: fc.constant(""),
      headers: goodHeaders(operation),
      revalidates: revalidates(operation),
      body: goodBody(operation),
    });
  }

  function invalid(operation: Operation): fc.Arbitrary<RequestPlan> {
    const { method } = operation;
    return fc.record({
      operation: fc.constant(operation),
      method: method === "GET" ? mostly(fc.constant("GET"), fc.constant("HEAD"), 12) : fc.constant(method),
      caller: mostly(callersFor(operation), fc.constant("nobody"), 12),
      credentials: mostly(fc.constant({}), brokenCredentials, 12),
      row_id: placeOf(operation),
      segments: mostly(fc.constant({}), oddSegments(operation), 5),
      query: mostly(queryOf(operation, 3), oddQuery(operation), 3),
      more_query: mostly(fc.constant(""), hostileQueryParts, 12),
      headers: mostly(goodHeaders(operation), hostileHeaders, 3),
      revalidates: revalidates(operation),
      body: oddBody(operation),
    });
  }

  /** Generates valid headers. Most syncs run asynchronously, because inline syncs would be slow. */
  function goodHeaders({ path, headers }: Operation): fc.Arbitrary<RequestPlan["headers"]> {
    const later = { prefer: "respond-async" };
    if (path.endsWith("/sync")) return mostly(fc.constant(later), fc.constant({}), 12);
    const fence = headers[FENCE];
    if (!fence) return fc.constant({});
    // Most leases in a fuzz run are the first, second or third of their task.
    const number = mostly(fc.integer({ min: 1, max: 3 }), values(fence, FENCE) as fc.Arbitrary<number>, 6);
    return fc.oneof(
      fc.constant({}),
      number.map((fence) => ({ [FENCE]: String(fence) })),
    );
  }

  function goodBody({ method, body, any_body }: Operation): fc.Arbitrary<RequestPlan["body"]> {
    if (method === "GET") return fc.constant(null);
    if (any_body)
      return fc.oneof(
        fc.jsonValue().map((value) => ({ value })),
        hostileBodies.map((raw) => ({ raw })),
      );
    return body ? values(body, "").map((value) => ({ value })) : fc.constant(null);
  }

  function oddBody(operation: Operation): fc.Arbitrary<RequestPlan["body"]> {
    const { method, body } = operation;
    if (method === "GET") return fc.constant(null);
    const raw = hostileBodies.map((raw) => ({ raw }));
    // A body that the operation does not expect must be ignored.
    if (!body) return fc.oneof(fc.constant(null), raw);
    return fc.oneof(
      { weight: 4, arbitrary: values(body, "").map((value) => ({ value })) },
      { weight: 10, arbitrary: fc.tuple(values(body, ""), changes(body)).map(([value, change]) => ({ value: change(value) })) },
      { weight: 3, arbitrary: raw },
    );
  }

  /** Replaces, duplicates or removes one field at any depth. */
  function changes(schema: Schema): fc.Arbitrary<(value: unknown) => unknown> {
    const fields = Object.keys(api.resolve(schema).properties ?? {});
    const replaced = fc.tuple(fc.nat(50), hostileValues).map(
      ([nth, hostile]) =>
        (value: unknown) =>
          changeAt(value, nth, () => hostile),
    );
    const doubled = fc
      .nat(50)
      .map(
        (nth) => (value: unknown) => changeAt(value, nth, (old) => (Array.isArray(old) ? [...old, ...old, ...old] : [old, old])),
      );
    const without = fc.nat(50).map((nth) => (value: unknown) => changeAt(value, nth, () => undefined));
    const named = (fields.length > 0 ? fc.constantFrom(...fields) : fc.constant("x")).chain((name) =>
      hostileValues.map((hostile) => (value: unknown) => ({ ...(value as object), [name]: hostile })),
    );
    return fc.oneof({ weight: 3, arbitrary: replaced }, { weight: 3, arbitrary: named }, doubled, without);
  }

  /** Generates a query with all required parameters. An optional parameter is left out once in `one_in` times. */
  function queryOf({ query, required }: Operation, one_in: number): fc.Arbitrary<RequestPlan["query"]> {
    const parts = Object.entries(query).map(([name, schema]) => {
      const part = goodQueryValue(name, schema).map((value): RequestPlan["query"] => [[name, value]]);
      return required.includes(name) ? part : mostly(fc.constant<RequestPlan["query"]>([]), part, one_in);
    });
    return parts.length === 0 ? fc.constant([]) : fc.tuple(...parts).map((all) => all.flat());
  }

  function oddQuery(operation: Operation): fc.Arbitrary<RequestPlan["query"]> {
    const names = Object.keys(operation.query);
    const part = fc.tuple(names.length > 0 ? fc.constantFrom(...names) : fc.constant("limit"), hostileQueryValues);
    return fc
      .tuple(
        queryOf(operation, 3),
        fc.array(
          part.map(([name, text]): [string, unknown] => [name, new RawJson(text)]),
          { minLength: 1, maxLength: 3 },
        ),
      )
      .map(([usual, invalid]) => [...usual, ...invalid]);
  }

  function goodQueryValue(name: string, schema: Schema): fc.Arbitrary<unknown> {
    const words = schema.enum ? undefined : FIELD_VALUES[name];
    return words ?? values(schema, name);
  }
}

/** The header with the fence of a task's lease. */
const FENCE = "X-Task-Fence";

const revalidates = ({ method }: Operation): fc.Arbitrary<boolean> =>
  method === "GET" ? mostly(fc.constant(false), fc.constant(true), 4) : fc.constant(false);

const KINDS = ["board", "task", "agent", "tag", "gateway", "webhook", "organization"];

function placeOf({ params, users, agents }: Operation, given?: fc.Arbitrary<Source>): fc.Arbitrary<IdPlaceholder> {
  // Public operations may change any organization, so such a change is not a problem.
  const sources = users || agents ? given : fc.constant<Source>("own");
  const last = Object.keys(params).at(-1);
  return idPlaceholders(last === undefined ? "none" : (kindOf(last) ?? last), sources);
}

/** Replaces a segment by an invalid id or an id of another kind. */
function oddSegments({ params }: Operation): fc.Arbitrary<RequestPlan["segments"]> {
  const names = Object.keys(params);
  if (names.length === 0) return fc.constant({});
  const odd = fc.oneof(
    { weight: 3, arbitrary: hostileSegments as fc.Arbitrary<string | IdPlaceholder> },
    { weight: 1, arbitrary: fc.constantFrom(...KINDS).chain((kind) => idPlaceholders(kind)) },
  );
  return fc.tuple(fc.constantFrom(...names), odd).map(([name, segment]) => ({ [name]: segment }));
}

/** Changes the nth node of a value, counted through objects and arrays. `undefined` removes it. */
function changeAt(value: unknown, nth: number, change: (old: unknown) => unknown): unknown {
  const count = nodesIn(value);
  const wanted = nth % count;
  let at = -1;
  const visit = (node: unknown): unknown => {
    at += 1;
    if (at === wanted) {
      at += nodesIn(node) - 1;
      return change(node);
    }
    if (Array.isArray(node)) return node.map(visit).filter((item) => item !== undefined);
    if (!isPlain(node)) return node;
    return Object.fromEntries(Object.entries(node).map(([key, child]) => [key, visit(child)]));
  };
  return visit(value);
}

const isPlain = (node: unknown): node is Record<string, unknown> =>
  typeof node === "object" &&
  node !== null &&
  !(node instanceof IdPlaceholder) &&
  !(node instanceof RawJson) &&
  !(node instanceof ServerUrl);

const nodesIn = (node: unknown): number =>
  isPlain(node) || Array.isArray(node) ? Object.values(node).reduce((sum: number, child) => sum + nodesIn(child), 1) : 1;
