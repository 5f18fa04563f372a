import { afterAll, beforeAll, expect, test } from "vitest";
import { type AccessMatrix, openAccessMatrix } from "./access-matrix.ts";
import { matchesResult, REDUNDANT_CONDITIONS } from "./redundant-conditions.ts";
import { type MutationResult, type MutationRunResult, type Detection, runMutations } from "./mutation-run.ts";

const LIMIT_MS = 3_600_000;
const PROGRESS = 50;
/** TENANCY_PART=2/4 removes the second quarter of the conditions. */
const [number, of] = (process.env["TENANCY_PART"] ?? "1/1").split("/").map(Number) as [number, number];
/** TENANCY_TEXT="follows|artifacts" removes only the conditions of statements with one of these texts. */
const containing = (process.env["TENANCY_TEXT"] ?? "").split("|");
/** TENANCY_OPERATIONS="follow|users/me" sends only requests of operations whose method and path match. */
const operations = new RegExp(process.env["TENANCY_OPERATIONS"] ?? "");

let matrix: AccessMatrix;
let findings: MutationResult[];
let unstable: MutationRunResult["unstable"];
beforeAll(async () => {
  matrix = await openAccessMatrix();
  ({ findings, unstable } = await runMutations(matrix, { number, of, containing, operations }, report));
  const count = (missed: Detection) => findings.filter((finding) => finding.detected === missed).length;
  const counts = `${count("alone")} detected alone, ${count("behind")} behind others, ${count("never")} never`;
  process.stdout.write(`${findings.length} conditions, ${matrix.cases.length} requests: ${counts}.\n`);
}, LIMIT_MS);
afterAll(() => matrix.close());

/** Shows the progress of the run, and each condition whose removal goes unnoticed as soon as that is known. */
function report(finding: MutationResult, index: number, count: number): void {
  if (index % PROGRESS === 0) process.stdout.write(`${index} of ${count} conditions\n`);
  if (finding.detected === "never" && !explained(finding))
    process.stdout.write(`Not detected: ${finding.name}, in ${finding.operations.join(", ")}\n`);
}

const explained = (finding: MutationResult) => REDUNDANT_CONDITIONS.some((entry) => matchesResult(entry, finding));

test("removing any condition that separates tenants, boards or people is detected", () => {
  const unexplained = findings.filter((finding) => finding.detected === "never" && !explained(finding));
  expect(unexplained.map(({ name, operations }) => ({ name, operations }))).toEqual([]);
});

test("a request that is repeated without removing a condition has the same result", () => {
  expect(unstable).toEqual([]);
});

test("every listed redundant condition still exists, and its removal is still not detected", () => {
  const outdated = REDUNDANT_CONDITIONS.flatMap((entry) => {
    const about = findings.filter((finding) => matchesResult(entry, finding));
    const missed = about.filter(({ detected }) => detected === "alone" || detected === "behind").map(({ by }) => by);
    return about.length === 0 || missed.length > 0 ? [{ ...entry, missed }] : [];
  });
  expect(outdated).toEqual([]);
});
