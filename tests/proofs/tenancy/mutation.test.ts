import { afterAll, beforeAll, expect, test } from "vitest";
import { type AccessMatrix, openAccessMatrix } from "./access-matrix.ts";
import { matchesResult, REDUNDANT_CONDITIONS } from "./redundant-conditions.ts";
import { type MutationResult, type Detection, runMutations } from "./mutation-run.ts";

const LIMIT_MS = 3_600_000;

let matrix: AccessMatrix;
let findings: MutationResult[];
beforeAll(async () => {
  matrix = await openAccessMatrix();
  findings = await runMutations(matrix);
  const count = (missed: Detection) => findings.filter((finding) => finding.detected === missed).length;
  const counts = `${count("alone")} detected alone, ${count("behind")} behind others, ${count("never")} never`;
  process.stdout.write(`${findings.length} conditions, ${matrix.cases.length} requests: ${counts}.\n`);
}, LIMIT_MS);
afterAll(() => matrix.close());

const explained = (finding: MutationResult) => REDUNDANT_CONDITIONS.some((entry) => matchesResult(entry, finding));

test("removing any condition that separates tenants, boards or people is detected", () => {
  const unexplained = findings.filter((finding) => finding.detected === "never" && !explained(finding));
  expect(unexplained.map(({ name, operations }) => ({ name, operations }))).toEqual([]);
});

test("every listed redundant condition still exists, and its removal is still not detected", () => {
  const outdated = REDUNDANT_CONDITIONS.flatMap((entry) => {
    const about = findings.filter((finding) => matchesResult(entry, finding));
    const missed = about.filter((finding) => finding.detected !== "never").map(({ by }) => by);
    return about.length === 0 || missed.length > 0 ? [{ ...entry, missed }] : [];
  });
  expect(outdated).toEqual([]);
});
