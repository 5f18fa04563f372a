import { readFileSync } from "node:fs";
import path from "node:path";
import { RETENTIONS } from "@board/api/work/retentions";
import { expect, test } from "vitest";

const document = readFileSync(path.resolve(import.meta.dirname, "../../docs/reference/data-model.md"), "utf8");
const MINUTES_PER_DAY = 24 * 60;

test("the table in the reference says for every retention how long its rows are kept", () => {
  const kept = Object.entries(RETENTIONS).map(([name, { days }]) => {
    if (typeof days === "string") return `| ${name} | \`${days.toUpperCase()}\``;
    return `| ${name} | ${days < 1 ? `${days * MINUTES_PER_DAY} minute` : `${days} day`}`;
  });
  expect(kept.filter((row) => !document.includes(row))).toEqual([]);
});
