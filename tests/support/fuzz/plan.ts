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
import { kindOf, Pick, type Source } from "./pool.ts";
import { callersFor } from "./callers.ts";
import { createValues, picks, Raw } from "./values.ts";
import { HostUrl, WORDS } from "./words.ts";

/** A request as it is generated: what it says of rows that may not be there yet is left open. */
export interface Plan {
  operation: Operation;
  method: string;
  /** By name; null with `credentials` of its own. */
  caller: string;
  credentials: Record<string, string>;
  /** The row that the path leads to, by the last of its placeholders. */
  place: Pick;
  /** Segments that stand in the place of what the row would give. */
  segments: Record<string, string | Pick>;
  query: [name: string, value: unknown][];
  /** Text of a query string that follows those. */
  more_query: string;
  headers: Record<string, string>;
  body: { value: unknown } | { raw: string | Uint8Array } | null;
}

export type Generator = (operation: Operation) => fc.Arbitrary<Plan>;

const often = <T>(usual: fc.Arbitrary<T>, odd: fc.Arbitrary<T>, one_in: number) =>
  fc.oneof({ weight: one_in - 1, arbitrary: usual }, { weight: 1, arbitrary: odd });

/** Plans of requests by operation. Half of them are meant to work; the others have one or several things wrong. */
export function createGenerator(api: Api): Generator {
  const values = createValues(api);
  const made = new Map<Operation, fc.Arbitrary<Plan>>();
  return (operation) => {
    const known =
      made.get(operation) ?? fc.oneof({ weight: 1, arbitrary: good(operation) }, { weight: 1, arbitrary: odd(operation) });
    made.set(operation, known);
    return known;
  };

  function good(operation: Operation): fc.Arbitrary<Plan> {
    return fc.record({
      operation: fc.constant(operation),
      method: fc.constant(operation.method),
      caller: callersFor(operation),
      credentials: fc.constant({}),
      place: placeOf(operation, fc.constant("own")),
      segments: fc.constant({}),
      query: queryOf(operation, 4),
      more_query: fc.constant(""),
      headers: goodHeaders(operation),
      body: goodBody(operation),
    });
  }

  function odd(operation: Operation): fc.Arbitrary<Plan> {
    const { method } = operation;
    return fc.record({
      operation: fc.constant(operation),
      method: method === "GET" ? often(fc.constant("GET"), fc.constant("HEAD"), 12) : fc.constant(method),
      caller: often(callersFor(operation), fc.constant("nobody"), 12),
      credentials: often(fc.constant({}), brokenCredentials, 12),
      place: placeOf(operation),
      segments: often(fc.constant({}), oddSegments(operation), 5),
      query: often(queryOf(operation, 3), oddQuery(operation), 3),
      more_query: often(fc.constant(""), hostileQueryParts, 12),
      headers: often(goodHeaders(operation), hostileHeaders, 3),
      body: oddBody(operation),
    });
  }

  /** A sync that is waited for takes its time. */
  function goodHeaders({ path }: Operation): fc.Arbitrary<Plan["headers"]> {
    const later = { prefer: "respond-async" };
    return path.endsWith("/sync") ? often(fc.constant(later), fc.constant({}), 12) : fc.constant({});
  }

  function goodBody({ method, body, any_body }: Operation): fc.Arbitrary<Plan["body"]> {
    if (method === "GET") return fc.constant(null);
    if (any_body)
      return fc.oneof(
        fc.jsonValue().map((value) => ({ value })),
        hostileBodies.map((raw) => ({ raw })),
      );
    return body ? values(body, "").map((value) => ({ value })) : fc.constant(null);
  }

  function oddBody(operation: Operation): fc.Arbitrary<Plan["body"]> {
    const { method, body } = operation;
    if (method === "GET") return fc.constant(null);
    const raw = hostileBodies.map((raw) => ({ raw }));
    // Where no body is asked for, nobody should read one.
    if (!body) return fc.oneof(fc.constant(null), raw);
    return fc.oneof(
      { weight: 4, arbitrary: values(body, "").map((value) => ({ value })) },
      { weight: 10, arbitrary: fc.tuple(values(body, ""), changes(body)).map(([value, change]) => ({ value: change(value) })) },
      { weight: 3, arbitrary: raw },
    );
  }

  /** One field, at whatever depth, gets something that does not belong there, is doubled, or is gone. */
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

  /** What may be left out is there once in so many times. */
  function queryOf({ query, required }: Operation, one_in: number): fc.Arbitrary<Plan["query"]> {
    const parts = Object.entries(query).map(([name, schema]) => {
      const part = goodQueryValue(name, schema).map((value): Plan["query"] => [[name, value]]);
      return required.includes(name) ? part : often(fc.constant<Plan["query"]>([]), part, one_in);
    });
    return parts.length === 0 ? fc.constant([]) : fc.tuple(...parts).map((all) => all.flat());
  }

  function oddQuery(operation: Operation): fc.Arbitrary<Plan["query"]> {
    const names = Object.keys(operation.query);
    const part = fc.tuple(names.length > 0 ? fc.constantFrom(...names) : fc.constant("limit"), hostileQueryValues);
    return fc
      .tuple(
        queryOf(operation, 3),
        fc.array(
          part.map(([name, text]): [string, unknown] => [name, new Raw(text)]),
          { minLength: 1, maxLength: 3 },
        ),
      )
      .map(([usual, odd]) => [...usual, ...odd]);
  }

  function goodQueryValue(name: string, schema: Schema): fc.Arbitrary<unknown> {
    const words = schema.enum ? undefined : WORDS[name];
    return words ?? values(schema, name);
  }
}

const KINDS = ["board", "task", "agent", "tag", "gateway", "webhook", "organization"];

function placeOf({ params, users, agents }: Operation, given?: fc.Arbitrary<Source>): fc.Arbitrary<Pick> {
  // What is open to all may be used by all: that it changes something elsewhere says nothing.
  const sources = users || agents ? given : fc.constant<Source>("own");
  const last = Object.keys(params).at(-1);
  return picks(last === undefined ? "none" : (kindOf(last) ?? last), sources);
}

/** One of the segments is no id, or one of something else. */
function oddSegments({ params }: Operation): fc.Arbitrary<Plan["segments"]> {
  const names = Object.keys(params);
  if (names.length === 0) return fc.constant({});
  const odd = fc.oneof(
    { weight: 3, arbitrary: hostileSegments as fc.Arbitrary<string | Pick> },
    { weight: 1, arbitrary: fc.constantFrom(...KINDS).chain((kind) => picks(kind)) },
  );
  return fc.tuple(fc.constantFrom(...names), odd).map(([name, segment]) => ({ [name]: segment }));
}

/** The value with its nth node changed, counted through objects and arrays; `undefined` takes it away. */
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
  typeof node === "object" && node !== null && !(node instanceof Pick) && !(node instanceof Raw) && !(node instanceof HostUrl);

const nodesIn = (node: unknown): number =>
  isPlain(node) || Array.isArray(node) ? Object.values(node).reduce((sum: number, child) => sum + nodesIn(child), 1) : 1;
