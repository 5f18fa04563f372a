import { expect, test } from "vitest";
import { setup, setupWorld } from "../support/fixtures.ts";
import { addAgent, addEmptyBoard, createHostedWorld, filesOf, type NewAgent, tokensOf } from "../support/provisioning.ts";
import { openPullBoard } from "../support/pull-board.ts";

const hosted = await setup(createHostedWorld());
const { world, host, home } = hosted;

interface File {
  name: string;
  content: string;
  written: string;
}

const read = (id: string, token = home.owner.token) => world.call("GET", `/api/v1/agents/${id}/files`, { token });
const filesFor = async (id: string, token?: string): Promise<File[]> => (await read(id, token)).body.files;
const addLead = async (): Promise<NewAgent> => {
  const board_id = await addEmptyBoard(world, home);
  const lead = await addAgent(world, home, board_id, {
    name: "Lea",
    is_board_lead: true,
    soul_template: "Calm as {{ agent_name }}",
  });
  await world.drain();
  return lead;
};

test("the files of an agent on a host are shown as its host got them, with the token hidden", async () => {
  const lead = await addLead();
  const files = await filesFor(lead.id);
  expect(files.map(({ name, written }) => [name, written])).toEqual([
    ["TOOLS.md", "always"],
    ["SOUL.md", "always"],
    ["IDENTITY.md", "always"],
    ["USER.md", "if_missing"],
    ["MEMORY.md", "if_missing"],
    ["HEARTBEAT.md", "always"],
    ["BOOTSTRAP.md", "at_first_start"],
    ["AGENTS.md", "always"],
    ["ROLES.md", "always"],
  ]);
  const [, token] = tokensOf(host, lead)[0]!;
  const contents = new Map(files.map(({ name, content }) => [name, content]));
  expect(contents.get("SOUL.md")).toBe("Calm as Lea");
  expect(contents.get("TOOLS.md")).toContain("AUTH_TOKEN=(hidden)");
  for (const name of ["SOUL.md", "IDENTITY.md", "USER.md"])
    expect(contents.get(name), name).toBe(filesOf(host, lead).get(name)?.trim());
  expect(JSON.stringify(files)).not.toContain(token);
});

test("a worker whose soul nobody has set has the soul of its role in its files", async () => {
  const worker = await addAgent(world, home, home.board_id, { identity_profile: { role: "Code Reviewer" } });
  const soul = (await filesFor(worker.id)).find(({ name }) => name === "SOUL.md");
  expect(soul?.content).toContain("/api/souls-directory/board/code-reviewer");
});

test("the file about the user describes the person who asks for it, and nobody if the caller is a key", async () => {
  const lead = await addLead();
  const admin = await world.member("second admin", home, "admin", { write: true });
  await world.call("PATCH", "/api/v1/users/me", { token: home.owner.token, body: { notes: "Likes tea" } });
  await world.call("PATCH", "/api/v1/users/me", { token: admin.token, body: { notes: "Likes coffee" } });
  const key = await world.call("POST", "/api/v1/keys", { token: home.owner.token, body: { name: "CI", access: "admin" } });
  const textFor = async (token: string) => JSON.stringify(await filesFor(lead.id, token));
  expect(await textFor(home.owner.token)).toContain("Likes tea");
  expect(await textFor(admin.token)).toMatch(/Likes coffee/);
  expect(await textFor(admin.token)).not.toContain("Likes tea");
  expect(await textFor(key.body.key)).not.toMatch(/Likes/);
});

test("the files of an agent without a host are the instructions that it reads itself", async () => {
  const pull = await openPullBoard(world, "puller");
  const { text } = await world.call("GET", "/api/v1/agent/instructions", { agent: pull.worker.token });
  expect(await filesFor(pull.worker.id, pull.owner.token)).toEqual([
    { name: "INSTRUCTIONS.md", content: text, written: "on_request" },
  ]);
});

test("files that are too large to be written are refused with the name of the largest part", async () => {
  const small = await setupWorldWith({ agent_file_max_chars: 20_000 });
  const soul_template = "{{ agent_name }}".repeat(1_000);
  const { id } = await addAgent(small.world, small.home, small.home.board_id, { name: "n".repeat(200), soul_template });
  const answer = await small.world.call("GET", `/api/v1/agents/${id}/files`, { token: small.home.owner.token });
  expect([answer.status, answer.body.detail]).toEqual([
    422,
    "SOUL.md would have more than 20000 characters, mostly by the variable agent_name. Shorten its template.",
  ]);
});

test("an answer with long files is shortened, and marks the shortened files", async () => {
  const small = await setupWorldWith({ answer_max_bytes: 1_000_000 });
  const { id } = await addAgent(small.world, small.home, small.home.board_id, {
    name: "語".repeat(200),
    soul_template: "{{ agent_name }}".repeat(1_900),
  });
  const answer = await small.world.call("GET", `/api/v1/agents/${id}/files`, { token: small.home.owner.token });
  expect(Buffer.byteLength(answer.text)).toBeLessThanOrEqual(1_000_000);
  expect(answer.body.files.find(({ name }: File) => name === "SOUL.md").truncated_fields).toEqual(["content"]);
});

async function setupWorldWith(limits: Record<string, number>) {
  const other = await setupWorld({ limits });
  return { world: other, home: await other.tenant("small") };
}
