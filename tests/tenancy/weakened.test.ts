import { afterAll, beforeAll, expect, test } from "vitest";
import { type Matrix, openMatrix } from "../support/access-matrix.ts";
import { isAbout, REDUNDANT } from "./redundant.ts";
import { type Finding, type Missed, survey } from "./survey.ts";

const LIMIT_MS = 3_600_000;

let matrix: Matrix;
let findings: Finding[];
beforeAll(async () => {
  matrix = await openMatrix();
  findings = await survey(matrix);
  const count = (missed: Missed) => findings.filter((one) => one.missed === missed).length;
  const counts = `${count("alone")} missed alone, ${count("behind")} behind others, ${count("never")} never`;
  process.stdout.write(`${findings.length} conditions, ${matrix.trials.length} requests: ${counts}.\n`);
}, LIMIT_MS);
afterAll(() => matrix.close());

const explained = (finding: Finding) => REDUNDANT.some((entry) => isAbout(entry, finding));

test("each condition that keeps tenants, boards or people apart is missed when it is gone", () => {
  const unexplained = findings.filter((one) => one.missed === "never" && !explained(one));
  expect(unexplained.map(({ name, operations }) => ({ name, operations }))).toEqual([]);
});

test("what nothing can miss is still there, and is still missed by nothing", () => {
  const outdated = REDUNDANT.flatMap((entry) => {
    const about = findings.filter((finding) => isAbout(entry, finding));
    const missed = about.filter((one) => one.missed !== "never").map(({ by }) => by);
    return about.length === 0 || missed.length > 0 ? [{ ...entry, missed }] : [];
  });
  expect(outdated).toEqual([]);
});
