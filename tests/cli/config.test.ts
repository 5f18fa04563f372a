import { afterAll, expect, test } from "vitest";
import { readConfig } from "../../packages/cli/src/config.ts";
import { cleanUpPrograms, temporaryFolder } from "../support/program.ts";

afterAll(cleanUpPrograms);

const URL = "http://127.0.0.1:8000";
const lease = { url: URL, agent_id: "agent", board_id: "board", fence: 1 };

test("two commands that run at the same time keep each other's leases", () => {
  const environment = { XDG_CONFIG_HOME: temporaryFolder() };
  const [one, other] = [readConfig(environment), readConfig(environment)];
  one.leases["first"] = lease;
  one.save();
  other.leases["second"] = lease;
  other.save();
  expect(readConfig(environment).leases).toEqual({ first: lease, second: lease });
});

test("a command restores neither a lease that another command has deleted, nor an earlier address", () => {
  const environment = { XDG_CONFIG_HOME: temporaryFolder() };
  const before = readConfig(environment);
  Object.assign(before.leases, { ended: lease, held: lease });
  before.save();
  const [one, other] = [readConfig(environment), readConfig(environment)];
  delete one.leases["ended"];
  one.url = URL;
  one.save();
  other.leases["held"] = { ...lease, fence: 2 };
  other.save();
  expect(readConfig(environment)).toMatchObject({ url: URL, leases: { held: { fence: 2 } } });
  expect(Object.keys(readConfig(environment).leases)).toEqual(["held"]);
});
