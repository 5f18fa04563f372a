import path from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import durations from "../durations.json" with { type: "json" };

const root = path.resolve(import.meta.dirname, "../..");
const known: Record<string, number> = durations;

/**
 * Returns the seconds that a file took, as `scripts/test-durations.mjs` recorded them. A file without a duration is new and
 * starts first.
 */
const secondsOf = ({ moduleId }: TestSpecification): number =>
  known[path.relative(root, moduleId).replaceAll("\\", "/")] ?? Number.POSITIVE_INFINITY;

/** Starts the longest files first, because a long file that starts last would run alone at the end. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((one, other) => secondsOf(other) - secondsOf(one) || 0);
  }
}
