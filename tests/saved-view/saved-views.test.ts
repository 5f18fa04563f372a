import { expect, test } from "vitest";
import { setupWorld } from "../support/fixtures.ts";

const world = await setupWorld();
const home = await world.tenant("home");
const reader = await world.person("reader");
await world.join(reader, home.organization_id, "member", { read: true });

const url = `/api/v1/boards/${home.board_id}/saved-views`;
const get = (token: string) => world.call("GET", url, { token });
const put = (token: string, views: unknown) => world.call("PUT", url, { token, body: { views } });

test("views are kept in their order, replaced as a whole, and belong to one person", async () => {
  expect((await get(home.owner.token)).body).toEqual({ board_id: home.board_id, views: [], updated_at: null });
  const views = [
    { name: "Mine", query: "agent=nobody&sort=due" },
    { name: "A list", query: "view=list" },
  ];
  const stored = await put(home.owner.token, views);
  expect([stored.status, stored.body.views]).toEqual([200, views]);
  expect((await get(home.owner.token)).body.views).toEqual(views);
  expect((await put(home.owner.token, [views[1]])).body.views).toEqual([views[1]]);
  const other = await get(reader.token);
  expect([other.status, other.body.views ?? other.body]).toEqual([200, []]);
});

test.each([
  [
    "two of one name",
    [
      { name: "A", query: "" },
      { name: "A", query: "q=1" },
    ],
  ],
  ["no name", [{ name: " ", query: "" }]],
  ["a long query", [{ name: "A", query: "q".repeat(1_001) }]],
  ["too many", Array.from({ length: 51 }, (_, index) => ({ name: String(index), query: "" }))],
])("views with %s are refused, and the error names the field", async (_what, views) => {
  const answer = await put(home.owner.token, views);
  expect(answer.status).toBe(422);
  expect(answer.body.detail[0].loc[1]).toBe("views");
});
