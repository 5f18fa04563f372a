import { toPlain } from "@board/console/src/ui/plain.ts";
import { expect, test } from "vitest";

test("a program's terminal colours are removed, and its other control characters are removed or made visible", () => {
  expect(toPlain("\u001b[31mred\u001b[0m \u001b]0;title\u0007bell\u0007\r\nnext\ttab")).toBe("red bell‹07›\nnext\ttab");
  expect(toPlain("a\u202Eb\u0000\u009b")).toBe("a‹202e›b‹00›‹9b›");
});
