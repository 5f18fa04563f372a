import { afterAll, expect, test } from "vitest";
import { openCommandLine } from "../support/command-line.ts";
import { setup, setupWorld } from "../support/fixtures.ts";
import { cleanUpPrograms } from "../support/program.ts";
import { openPullBoard } from "../support/pull-board.ts";
import { serve } from "../support/serve.ts";

const world = await setupWorld();
const home = await openPullBoard(world, "home");
const server = await setup(serve((request) => world.app.fetch(request)));
const commandLine = await openCommandLine();
afterAll(cleanUpPrograms);
const you = commandLine.caller({ BOARD_URL: server.url, BOARD_TOKEN: home.owner.token });

/** Asks for the permission to run a command, with texts as a hostile agent may write them. */
async function ask(): Promise<string> {
  const payload = {
    title: "Run \u001b[2Jthe tests",
    tool: "execute",
    excerpt: "npm test\n\u202erm -r build",
    options: [
      { id: "once", name: "Allow", kind: "allow_once" },
      { id: "always", name: "Always in this task", kind: "allow_always" },
      { id: "no", name: "Reject", kind: "reject_once" },
    ],
  };
  const body = {
    action_type: "run.permission",
    description: "Tests",
    task_ids: [await home.addTask({ title: "Count" })],
    payload,
  };
  const answer = await home.call("POST", `/api/v1/boards/${home.board_id}/approvals`, home.worker.token, body);
  expect(answer.status, answer.text).toBe(200);
  return answer.body.id;
}
const read = async (id: string) =>
  (await home.call("GET", `/api/v1/boards/${home.board_id}/approvals/${id}`, home.owner.token)).body;

test("approve --show prints the tool, the excerpt and the options of a permission, without control characters, and decides nothing", async () => {
  const id = await ask();
  const { stdout, code } = await you.run(["approve", id, "--show"]);
  expect(code).toBe(0);
  expect(stdout.split("\n")).toEqual([
    "pending: run.permission",
    "task: Count",
    "tool: execute",
    "title: Run [2Jthe tests",
    "  npm test",
    "  rm -r build",
    "option: Allow (allow_once)",
    "option: Always in this task (allow_always)",
    "option: Reject (reject_once)",
    "",
  ]);
  expect((await read(id)).status).toBe("pending");
});

test.each([
  ["always in this task", "approved", "always"],
  ["once", "approved", "once"],
  ["Reject", "rejected", "no"],
])("approve --option %j decides the permission as %s by the option %s", async (option, status, selected_option) => {
  const id = await ask();
  expect(await you.run(["approve", id, "--option", option])).toMatchObject({ code: 0, stdout: `${status}: ${id}\n` });
  expect(await read(id)).toMatchObject({ status, payload: { selected_option } });
});

test("an option that a permission does not have is refused, and the error names the options that it has", async () => {
  const id = await ask();
  const { code, stderr } = await you.run(["approve", id, "--option", "Everything"]);
  expect(code).toBe(1);
  expect(stderr).toContain("no option Everything. Use one of: Allow, Always in this task, Reject");
  expect((await read(id)).status).toBe("pending");
});

test("approve --reject decides nothing with an option that allows, and rejects with an option that rejects", async () => {
  const id = await ask();
  const refused = await you.run(["approve", id, "--reject", "--option", "Always in this task"]);
  expect(refused).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("Leave out --reject") });
  expect((await read(id)).status).toBe("pending");
  expect(await you.run(["approve", id, "--reject", "--option", "Reject"])).toMatchObject({ stdout: `rejected: ${id}\n` });
});

test("ask refuses a confidence that is not a number from 0 to 100, and asks nothing", async () => {
  const agent = commandLine.caller({ BOARD_URL: server.url, BOARD_TOKEN: home.worker.token });
  for (const confidence of ["high", "101", "-1", ""]) {
    const refused = await agent.run(["ask", "deploy", "--reason", "Sure", `--confidence=${confidence}`]);
    expect(refused).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("a number from 0 to 100") });
  }
});
