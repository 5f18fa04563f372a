import { expect, test } from "vitest";
import { listen } from "../support/sse.ts";
import { type Browser, setupAccounts } from "./support.ts";

const { world, origin, openOwner, invite, joinBy } = await setupAccounts({
  streams: { poll_ms: 20 },
  environment: { BASE_URL: "http://board.test" },
});

const follow = (browser: Browser, path: string) =>
  listen(
    (path, { headers: sent }) => {
      const headers = new Headers(sent);
      headers.set("cookie", browser.cookie);
      return world.app.request(origin + path, { headers });
    },
    path,
    {},
  );

test.each(["before", "after"])(
  "the stream of a removed member ends, and the owner's stream, which was opened %s the member's, stays open",
  async (order) => {
    const owner = await openOwner();
    const body = { name: `Board ${order}`, description: "A board", gateway: "pull" };
    const board = (await owner.send("POST", "/api/v1/boards", body)).body;
    const { browser: member } = await joinBy(await invite(owner, `${order}@example.com`), "Ann");
    const { id } = (await member.send("GET", "/organizations/me/member")).body;
    const memory = `/api/v1/boards/${board.id}/memory`;
    const browsers = order === "before" ? [owner, member] : [member, owner];
    const streams = [await follow(browsers[0]!, `${memory}/stream`), await follow(browsers[1]!, `${memory}/stream`)];
    const [ownStream, memberStream] = order === "before" ? streams : streams.toReversed();
    await owner.send("POST", memory, { content: "for both" });
    await memberStream!.waitForEvents(1);
    await owner.send("DELETE", `/organizations/me/members/${id}`);
    await memberStream!.waitForEnd();
    await owner.send("POST", memory, { content: "for the owner" });
    await ownStream!.waitForEvents(2);
    const contentsOf = (stream: typeof ownStream) => stream!.events().map(({ data }) => data.memory.content);
    expect([contentsOf(ownStream), contentsOf(memberStream)]).toEqual([["for both", "for the owner"], ["for both"]]);
    await ownStream!.close();
  },
);

test("the streams of the owner, who is the user of local mode, and of a member stay open together", async () => {
  const owner = await openOwner();
  const board = (await owner.send("POST", "/api/v1/boards", { name: "Shared", description: "A board", gateway: "pull" })).body;
  const { browser: member } = await joinBy(await invite(owner, "together@example.com"), "Bea");
  const memory = `/api/v1/boards/${board.id}/memory`;
  const streams = [await follow(owner, `${memory}/stream`), await follow(member, `${memory}/stream`)];
  for (const count of [1, 2, 3]) {
    await owner.send("POST", memory, { content: `entry ${count}` });
    for (const stream of streams) await stream.waitForEvents(count);
  }
  expect(streams.map(({ ended }) => ended)).toEqual([false, false]);
  for (const stream of streams) await stream.close();
});
