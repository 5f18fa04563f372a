import path from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that take long, longest first: begun late, one of them would run alone at the end. */
const LONG = [
  "tenancy",
  "local-server",
  "crashes",
  "demo",
  "config-heartbeat",
  "host-contract",
  "gateway-session-operations",
  "provisioning-updates",
  "provisioning",
  "host-entries",
  "organization-cleanup",
  "template-sync-tokens",
  "jobs-command",
];

const placeOf = ({ moduleId }: TestSpecification): number => {
  const place = LONG.indexOf(path.basename(moduleId, ".test.ts"));
  return place < 0 ? LONG.length : place;
};

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((one, other) => placeOf(one) - placeOf(other));
  }
}
