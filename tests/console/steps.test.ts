import { diffLines } from "@board/console/src/run/diff.ts";
import { RowList } from "@board/console/src/run/rows.ts";
import type { Step } from "@board/console/src/types.ts";
import { expect, test } from "vitest";

const at = "2026-11-20T10:00:00.000Z";
const message = (n: number): Step => ({ n, at, kind: "message", text: `Message ${n}` });
const call = (n: number, more: object): Step => ({ n, at, kind: "tool_call", tool_call_id: "call", ...more }) as Step;

test("the steps of a tool call are one row at the position of its first step, in whatever order the pages are read", () => {
  const steps = [
    message(0),
    call(1, { title: "Edit the file", status: "pending", input: "a" }),
    message(2),
    call(3, { title: null, status: "in_progress" }),
    message(4),
    call(5, { status: "completed", output: "b" }),
  ];
  const pages = [steps.slice(0, 2), steps.slice(2, 4), steps.slice(4)];
  const oldestFirst = new RowList();
  for (const page of pages) oldestFirst.add(page, true);
  const newestFirst = new RowList();
  for (const page of pages.toReversed()) newestFirst.add(page, false);
  for (const list of [oldestFirst, newestFirst]) {
    const { rows } = list.slice(0, list.height);
    expect(rows.map(({ step }) => step.n)).toEqual([0, 1, 2, 4]);
    expect(rows[1]!.step).toMatchObject({ title: "Edit the file", status: "completed", input: "a", output: "b" });
    expect(list.count).toBe(4);
  }
});

test("only rows in sight are drawn, and rows move when the height of a row above them was measured", () => {
  const list = new RowList();
  for (let first = 0; first < 100_000; first += 200)
    list.add(
      Array.from({ length: 200 }, (_, index) => message(first + index)),
      true,
    );
  const { rows, top } = list.slice(list.height / 2, list.height / 2 + 800);
  expect(rows.length).toBeLessThan(50);
  const [first] = rows;
  const { shift } = list.measure(new Map([[first!.step.n - 1, first!.height + 64]]), top);
  expect(shift).toBe(64);
  expect(list.slice(top + 64, top + 64).rows.at(-1)!.step.n).toBe(first!.step.n);
});

test("a diff names the lines that were added and removed, and comparing large texts takes bounded time", () => {
  const lines = diffLines("one\ntwo\nthree\n", "one\n2\nthree\nfour\n");
  expect(lines.map(({ sign, text }) => sign + text)).toEqual([" one", "-two", "+2", " three", "+four"]);
  expect(diffLines(null, "new").map(({ sign }) => sign)).toEqual(["+"]);
  const [old, next] = ["a\n", "b\n"].map((line) => line.repeat(8_000));
  expect(diffLines(old!, next!)).toHaveLength(16_000);
});
