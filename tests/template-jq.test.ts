/** The jq programs of agents' files, run without anything of the machine. */
import { endpoints } from "@board/api/groups";
import { afterAll, beforeAll, expect, test } from "vitest";
import { blocksOf, programsOf, runJq } from "./support/template-commands.ts";
import { byAddress, indexOf, lookUp, type Office, openOffice, rowsOf } from "./support/template-office.ts";
import { filesOf, ROLES, subjectOf } from "./support/template-subject.ts";

let office: Office;

beforeAll(async () => {
  office = await openOffice();
});
afterAll(() => office.close());

test("every program in the files compiles", async () => {
  const found = ROLES.flatMap((role) =>
    Object.entries(filesOf(subjectOf(role))).flatMap(([name, content]) =>
      blocksOf(content)
        .flatMap(programsOf)
        .map((jq) => ({ ...jq, at: `${role} ${name}` })),
    ),
  );
  const commands = ROLES.flatMap((role) => Object.values(filesOf(subjectOf(role))).flatMap(blocksOf)).join("\n");
  // None is overlooked: each call of jq is one of the programs, or the look for jq itself.
  expect(found).toHaveLength((commands.match(/(?<![\w-])jq (?=[-'"])/g) ?? []).length);
  const empty = { items: [], paths: {}, components: { schemas: {} } };
  for (const jq of found) await expect(runJq(jq, empty), jq.at).resolves.toEqual(expect.any(String));
  await expect(runJq({ flags: [], program: ".items[" }, empty)).rejects.toThrow(/compile error/);
});

test.each(ROLES)("the index of a %s has its operations, and their hints", async (role) => {
  const [index] = programsOf(blocksOf(office.files[role]["TOOLS.md"])[1]!);
  const rows = rowsOf(await runJq(index!, office.document));
  expect(rows.length).toBeGreaterThan(3);
  expect(rows.toSorted(byAddress)).toEqual(indexOf(role, office.document));
});

test("one operation is shown with parameters, limits, and the body opened", async () => {
  const [show] = programsOf(blocksOf(office.files.lead["TOOLS.md"])[2]!);
  expect(JSON.parse(await runJq(show!, office.document))).toMatchObject(lookUp(office.document));
  const flags = show!.flags.map((flag) => (flag === "agent_board_lookup" ? "agent_board_memory_record" : flag));
  expect(JSON.parse(await runJq({ ...show!, flags }, office.document))).toMatchObject({
    parameters: [{ name: "board_id" }],
    body: { type: "object", properties: { content: {}, tags: {} } },
  });
});

test("each intent leads to one path", async () => {
  const [find] = programsOf(blocksOf(office.files.lead["TOOLS.md"])[3]!);
  expect(await runJq(find!, office.document)).toBe("/api/v1/agent/healthz");
  for (const { spec, paths } of endpoints.filter((one) => one.spec.agent)) {
    const flags = find!.flags.map((flag) => (flag === "agent_auth_health" ? spec.agent!.intent : flag));
    expect([await runJq({ ...find!, flags }, office.document)], spec.agent!.intent).toEqual(paths);
  }
});

test("tasks are printed one to a line, whatever their titles hold", async () => {
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
    const programs = programsOf(blocksOf(filesOf(subjectOf(role))["HEARTBEAT.md"])[0]!);
    const output = await runJq(programs.at(-1)!, { items: [task, { ...task, id: "t2", is_blocked: false, due_at: "2030" }] });
    return rowsOf(output);
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
