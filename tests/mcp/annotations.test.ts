import { tools } from "@board/api/mcp/tools";
import { expect, test } from "vitest";
import { openPullBoard } from "../support/pull-board.ts";
import { setupWorld } from "../support/fixtures.ts";
import { connectMcp, REVISIONS } from "./support.ts";

const world = await setupWorld();
const home = await openPullBoard(world, "home");

const connectAll = () => Promise.all([home.worker, home.lead, home.owner].map(({ token }) => connectMcp(world, token)));

test.each(REVISIONS)(
  "a client of the protocol version %s sees no tool of an agent as destructive or as open to the world",
  async (revision) => {
    for (const { token } of [home.worker, home.lead]) {
      const { client } = await connectMcp(world, token, revision);
      // A client assumes the worst of a missing hint, and then asks a person for consent at every call.
      for (const { name, annotations } of (await client.listTools()).tools)
        expect(annotations, name).toMatchObject({ title: expect.any(String), openWorldHint: false, ...safeHint(annotations) });
    }
  },
);

const safeHint = (annotations: { readOnlyHint?: boolean | undefined } | undefined) =>
  annotations?.readOnlyHint ? { readOnlyHint: true } : { destructiveHint: false };

test("only tools that change nothing are marked as read-only, and a decision is marked so that clients ask a person", async () => {
  const [worker, , owner] = await connectAll();
  const readOnly = (await worker!.client.listTools()).tools.filter(({ annotations }) => annotations?.readOnlyHint);
  expect(readOnly.map(({ name }) => name).toSorted()).toEqual(["get_board", "get_task", "list_tasks", "read_payload", "recall"]);
  const decide = (await owner!.client.listTools()).tools.find(({ name }) => name === "decide_approval");
  expect(decide?.annotations).toMatchObject({ destructiveHint: true, idempotentHint: true });
});

test("the instructions and descriptions for a client name only tools that the client has", async () => {
  for (const { client } of await connectAll()) {
    const listed = (await client.listTools()).tools;
    const missing = tools.map(({ name }) => name).filter((name) => !listed.some((tool) => tool.name === name));
    const shown = `${client.getInstructions()} ${JSON.stringify(listed)}`;
    expect(missing.filter((name) => shown.includes(name))).toEqual([]);
  }
});

test("an error that a person gets does not mention tools that only agents have", async () => {
  const task_id = await home.addTask();
  await (await connectMcp(world, home.worker.token)).use("next_task");
  const { use } = await connectMcp(world, home.owner.token);
  const late = await use("update_task", { task_id, board_id: home.board_id, fence: 7, status: "review" });
  expect(late).toMatchObject({ refused: true, data: { status: 409 } });
  expect(late.text).not.toMatch(/next_task|check_inbox/);
});
