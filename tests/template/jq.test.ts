/** Runs the jq programs of agents' files without any program of this machine. */
import { endpoints } from "@board/api/groups";
import { expect, test } from "vitest";
import { shellBlocksOf, jqCallsOf, runJq } from "./shell-commands.ts";
import { compareByAddress, expectedIndex, expectedBoardLookup, openAgentFilesFixture, parseTsv } from "./agent-files.ts";
import { setup } from "../support/fixtures.ts";
import { filesOf, ROLES, subjectOf } from "./subject-fixture.ts";

const fixture = await setup(openAgentFilesFixture());

test("every jq program in the files compiles", async () => {
  const found = ROLES.flatMap((role) =>
    Object.entries(filesOf(subjectOf(role))).flatMap(([name, content]) =>
      shellBlocksOf(content)
        .flatMap(jqCallsOf)
        .map((jq) => ({ ...jq, at: `${role} ${name}` })),
    ),
  );
  const commands = ROLES.flatMap((role) => Object.values(filesOf(subjectOf(role))).flatMap(shellBlocksOf)).join("\n");
  // The count shows that no program was overlooked. It leaves out the commands that only check whether jq exists.
  expect(found).toHaveLength((commands.match(/(?<![\w-])jq (?=[-'"])/g) ?? []).length);
  const empty = { items: [], paths: {}, components: { schemas: {} } };
  for (const jq of found) await expect(runJq(jq, empty), jq.at).resolves.toEqual(expect.any(String));
  await expect(runJq({ flags: [], program: ".items[" }, empty)).rejects.toThrow(/compile error/);
});

test.each(ROLES)("the index of operations in the files of a %s has its operations with their hints", async (role) => {
  const [index] = jqCallsOf(shellBlocksOf(fixture.files[role]["TOOLS.md"])[1]!);
  const rows = parseTsv(await runJq(index!, fixture.document));
  expect(rows.length).toBeGreaterThan(3);
  expect(rows.toSorted(compareByAddress)).toEqual(expectedIndex(role, fixture.document));
});

test("the lookup of one operation shows its parameters, limits, and the resolved schema of its body", async () => {
  const [show] = jqCallsOf(shellBlocksOf(fixture.files.lead["TOOLS.md"])[2]!);
  expect(JSON.parse(await runJq(show!, fixture.document))).toMatchObject(expectedBoardLookup(fixture.document));
  const flags = show!.flags.map((flag) => (flag === "agent_board_lookup" ? "agent_board_memory_record" : flag));
  expect(JSON.parse(await runJq({ ...show!, flags }, fixture.document))).toMatchObject({
    parameters: [{ name: "board_id" }, { name: "Idempotency-Key" }],
    body: { type: "object", properties: { content: {}, tags: {} } },
  });
});

test("the lookup by an intent prints the paths of the operation with this intent", async () => {
  const [find] = jqCallsOf(shellBlocksOf(fixture.files.lead["TOOLS.md"])[3]!);
  expect(await runJq(find!, fixture.document)).toBe("/api/v1/agent/healthz");
  for (const { spec, paths } of endpoints.filter((one) => one.spec.agent)) {
    const flags = find!.flags.map((flag) => (flag === "agent_auth_health" ? spec.agent! : flag));
    expect([await runJq({ ...find!, flags }, fixture.document)], spec.agent!).toEqual(paths);
  }
});

test("tasks are printed one per line, whatever their titles contain", async () => {
  const task = {
    id: "t1",
    status: "inbox",
    priority: "high",
    due_at: null,
    assigned_agent_id: null,
    is_blocked: true,
    title: "Fix\tthe\nbuild",
  };
  const print = async (role: "lead" | "worker") => {
    const programs = jqCallsOf(shellBlocksOf(filesOf(subjectOf(role))["HEARTBEAT.md"])[0]!);
    const output = await runJq(programs.at(-1)!, { items: [task, { ...task, id: "t2", is_blocked: false, due_at: "2030" }] });
    return parseTsv(output);
  };
  expect(await print("lead")).toEqual([
    ["inbox", "high", "-", "t1", "free", "waits", "Fix\\tthe\\nbuild"],
    ["inbox", "high", "2030", "t2", "free", "-", "Fix\\tthe\\nbuild"],
  ]);
  expect(await print("worker")).toEqual([
    ["inbox", "high", "-", "t1", "waits", "Fix\\tthe\\nbuild"],
    ["inbox", "high", "2030", "t2", "-", "Fix\\tthe\\nbuild"],
  ]);
});
