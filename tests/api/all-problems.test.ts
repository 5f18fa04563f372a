import { endpoints } from "@board/api/groups";
import { toProblems } from "@board/api/edge/problems";
import { expect, test } from "vitest";
import type * as z from "zod";

/** No field accepts this value, except the fields that accept any JSON. */
const WRONG = [[["wrong"]]];

const bodies = endpoints.flatMap(({ method, paths, spec }) =>
  spec.body && "shape" in spec.body ? [[`${method} ${paths[0]}`, spec.body as z.ZodObject] as const] : [],
);

const problemsOf = (schema: z.ZodObject, input: object) => {
  const issues = schema.safeParse(input).error?.issues ?? [];
  return toProblems(issues as z.core.$ZodIssue[], "body", input, Object.keys(schema.shape)).map(({ loc }) => loc.join("."));
};

/** Returns the problems of one wrong field, without the problems of missing fields. */
const problemsOfField = (schema: z.ZodObject, name: string, value: unknown) =>
  problemsOf(schema, { [name]: value }).filter((loc) => loc.startsWith(`body.${name}`));

test.each(bodies)(
  "the problems of any two wrong fields of %s are listed together, in the order of the fields",
  (_operation, schema) => {
    const names = Object.keys(schema.shape);
    for (const value of [WRONG, "", "x".repeat(200_000)])
      for (const [at, one] of names.entries())
        for (const other of names.slice(at + 1)) {
          const expected = [...problemsOfField(schema, one, value), ...problemsOfField(schema, other, value)];
          const listed = problemsOf(schema, { [one]: value, [other]: value });
          const own = listed.filter((loc) => loc.startsWith(`body.${one}`) || loc.startsWith(`body.${other}`));
          expect(own).toEqual(expect.arrayContaining(expected));
          const places = listed.filter((loc) => loc !== "body").map((loc) => names.indexOf(loc.split(".")[1]!));
          expect(places).toEqual(places.toSorted((a, b) => a - b));
        }
  },
);

test.each(bodies)("the missing fields of %s are named even when another field is wrong", (_operation, schema) => {
  const names = Object.keys(schema.shape);
  const missing = problemsOf(schema, {}).filter((loc) => loc !== "body");
  for (const name of names)
    for (const value of [WRONG, ""]) {
      const others = missing.filter((loc) => !loc.startsWith(`body.${name}`));
      expect(problemsOf(schema, { [name]: value })).toEqual(
        expect.arrayContaining(others.filter((loc) => !isAnswered(loc, name))),
      );
    }
});

/** Fields that can replace each other: either one is enough. */
const ALIASES: readonly (readonly string[])[] = [
  ["content", "message"],
  ["through", "ids"],
  ["gateway_id", "gateway"],
  ["content", "text"],
];
const isAnswered = (loc: string, name: string) =>
  ALIASES.some((pair) => pair.includes(name) && pair.includes(loc.slice("body.".length)));
