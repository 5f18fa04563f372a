import { expect, test } from "vitest";
import { actAsMainAgent } from "../support/main-agent.ts";
import { setupWorld } from "../support/fixtures.ts";

const world = await setupWorld();
const home = await world.tenant("home");

const path = (board_id = home.board_id) => `/api/v1/agent/boards/${board_id}/tags`;
const add = async (name: string, token = home.owner.token) =>
  (await world.call("POST", "/api/v1/tags", { token, body: { name, color: "00FF00", description: "For people" } })).body;

test("agents of a board read all tags of its organization as tasks show them, in the order of the tags list", async () => {
  expect((await world.call("GET", path(), { agent: home.worker.token })).body).toEqual([]);
  for (const name of ["beta", "Alpha", "Gamma", "alpha 2", "Übung"]) await add(name);
  const abroad = await world.tenant("abroad");
  await add("Foreign", abroad.owner.token);
  const list = (await world.call("GET", "/api/v1/tags", { token: home.owner.token })).body.items;
  const labels = list.map(({ id, name, slug, color }: Record<string, string>) => ({ id, name, slug, color }));
  expect(labels.map(({ name }: { name: string }) => name).slice(0, 4)).toEqual(["Alpha", "alpha 2", "beta", "Gamma"]);
  const main = await actAsMainAgent(world, home.gateway_id);
  for (const { token } of [home.worker, home.lead, main]) {
    const answer = await world.call("GET", path(), { agent: token });
    expect([answer.status, answer.body]).toEqual([200, labels]);
  }
});

test("the list of tags for agents is not paged", async () => {
  for (let number = 0; number < 250; number++) await add(`Tag ${number}`);
  const answer = await world.call("GET", path(), { agent: home.worker.token });
  expect(answer.body.filter(({ name }: { name: string }) => name.startsWith("Tag "))).toHaveLength(250);
});
