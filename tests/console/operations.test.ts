import { readFileSync } from "node:fs";
import { NOT_PLACED, OPERATIONS_FILE, renderOperations } from "@board/local/console-operations";
import { expect, test } from "vitest";

test("the table of operations says for each operation of people where the console offers it, or why it does not", () => {
  const rendered = renderOperations();
  expect(rendered).not.toContain(NOT_PLACED);
  expect(readFileSync(OPERATIONS_FILE, "utf8"), "run `npm run docs:console`").toBe(rendered);
});
