import { tmpdir } from "node:os";
import { toStartError } from "@board/local/terminal";
import { expect, test } from "vitest";

/** When a write fails, the embedded database throws objects like this one, which are not instances of Error. */
const writeFailure = { name: "ErrnoError", errno: 51 };

// procfs reports that it has no free space.
test.runIf(process.platform === "linux")("a start on a full disk names the folder and says what to do", () => {
  for (const error of [writeFailure, new Error("PGlite failed to initialize properly")])
    expect(toStartError(error, "/proc")).toBe("The disk of /proc is full. Free space on it, then start the service again.");
});

test.each([
  [writeFailure, "ErrnoError 51"],
  [{ code: "E1", token: "secret" }, "E1"],
  [{ token: "secret" }, "Unknown error"],
  [{ message: "out of memory" }, "out of memory"],
  [new Error("out of memory"), "out of memory"],
  ["text", "text"],
  [undefined, "undefined"],
  [null, "null"],
])("a start that fails with %j names the cause in words", (error, text) => {
  expect(toStartError(error, tmpdir())).toBe(`The service cannot start: ${text}`);
  expect(toStartError(error, "/does/not/exist")).toBe(`The service cannot start: ${text}`);
});
