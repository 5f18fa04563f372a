import { expect, test } from "vitest";
import { startReceiver } from "../support/receiver.ts";
import { setup, setupWorld } from "../support/fixtures.ts";

const world = await setupWorld();
const home = await world.tenant("home");
const receiver = await setup(startReceiver());

const send = (method: string, path: string, body?: object) => world.call(method, path, { token: home.owner.token, body });

test("a test message fails if the receiver sends nothing for 15 seconds, and succeeds if the receiver has sent its status", {
  timeout: 60_000,
}, async () => {
  receiver.answer = (request, response) => {
    if (request.url!.endsWith("?silent")) return;
    response.writeHead(200, { "content-length": "100" });
    response.write("The rest never comes");
  };
  const tryOut = async (url: string) => {
    const { body } = await send("POST", "/api/v1/subscriptions", { url });
    return (await send("POST", `/api/v1/subscriptions/${body.id}/test`)).body;
  };
  const [silent, unfinished] = await Promise.all(["?silent", "?unfinished"].map((query) => tryOut(receiver.url + query)));
  expect(silent).toMatchObject({ ok: false, status_code: null, body: null, error: "127.0.0.1 took too long." });
  expect(unfinished).toMatchObject({ ok: true, status_code: 200, body: "The rest never comes", error: null });
});
