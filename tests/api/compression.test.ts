import { createPublicFiles } from "@board/api/edge/public-file";
import { request } from "node:http";
import { buffer } from "node:stream/consumers";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { compress } from "@board/api/edge/content-encoding";
import { describe, expect, test } from "vitest";
import { serve } from "../support/serve.ts";
import { addTask } from "../support/task.ts";
import { setupWorld } from "../support/fixtures.ts";

const world = await setupWorld({ environment: { CORS_ORIGINS: "https://app.example" } });
const home = await world.tenant("home");
const tasks: string = `/api/v1/boards/${home.board_id}/tasks`;
for (let number = 1; number <= 20; number++) await addTask(world, home, { title: `Täsk ${number}` });

const decoders = { br: brotliDecompressSync, gzip: gunzipSync };

async function get(accept: string | null, path = tasks, headers: Record<string, string> = {}, method = "GET") {
  const response = await world.app.request(path, {
    method,
    headers: {
      authorization: `Bearer ${home.owner.token}`,
      ...(accept === null ? {} : { "accept-encoding": accept }),
      ...headers,
    },
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  const encoding = response.headers.get("content-encoding") as keyof typeof decoders | null;
  return { response, bytes, encoding, text: method === "HEAD" ? "" : (encoding ? decoders[encoding](bytes) : bytes).toString() };
}

describe("the encoding of an answer", () => {
  test.each([
    ["br", "br"],
    ["gzip", "gzip"],
    ["gzip, deflate, br, zstd", "br"],
    ["gzip;q=1.0, br;q=0.5", "gzip"],
    ["GZIP", "gzip"],
    ["br;q=0, *", "gzip"],
    ["*", "br"],
    ["br;q=0.001", "br"],
    ["identity;q=0.5, gzip;q=0.4", null],
    ["identity", null],
    ["deflate", null],
    ["gzip;q=0, br;q=0", null],
    ["*;q=0", null],
    ["", null],
    [null, null],
  ])("Accept-Encoding %j selects %j", async (accept, expected) => {
    const plain = await get(null);
    const { encoding, text, response } = await get(accept);
    expect(encoding).toBe(expected);
    expect(text).toBe(plain.text);
    expect(response.headers.get("vary")).toBe("Accept-Encoding, Origin");
    expect(response.headers.get("content-type")).toBe("application/json");
  });

  test("compression reduces a long JSON answer to a fraction of its size", async () => {
    const plain = await get(null);
    expect((await get("br")).bytes.length).toBeLessThan(plain.bytes.length / 8);
    expect((await get("gzip")).bytes.length).toBeLessThan(plain.bytes.length / 8);
  });

  test("the encodings of one answer have different strong ETags, and each of them is accepted as current", async () => {
    const tags = await Promise.all(
      ["identity", "br", "gzip"].map(async (accept) => (await get(accept)).response.headers.get("etag")!),
    );
    const [plain] = tags;
    expect(tags).toEqual([plain, plain!.replace(/"$/, '-br"'), plain!.replace(/"$/, '-gzip"')]);
    for (const tag of tags) {
      const { response, bytes } = await get("br", tasks, { "if-none-match": tag });
      expect([response.status, bytes.length, response.headers.get("content-encoding")]).toEqual([304, 0, null]);
      expect(response.headers.get("vary")).toBe("Accept-Encoding, Origin");
    }
  });

  test("HEAD names the encoding and the ETag that GET would have", async () => {
    const [head, full] = [await get("br", tasks, {}, "HEAD"), await get("br")];
    expect([head.bytes.length, head.encoding]).toEqual([0, "br"]);
    expect(head.response.headers.get("etag")).toBe(full.response.headers.get("etag"));
  });

  test("the pages and the document of the API reference are encoded, and small answers are not", async () => {
    for (const path of ["/docs/swagger-ui.css", "/docs/swagger-ui-bundle.js", "/openapi.json"])
      expect([path, (await get("br", path)).encoding]).toEqual([path, "br"]);
    for (const path of ["/docs/start.js", "/healthz", "/api/v1/users/me"]) {
      const { encoding, response } = await get("br", path);
      expect([path, response.status, encoding]).toEqual([path, 200, null]);
    }
  });

  test("an error with a long body is encoded and keeps its status", async () => {
    const body = JSON.stringify({
      ...Object.fromEntries(["title", "status"].map((name) => [name, 7])),
      tag_ids: Array(100).fill("x"),
    });
    const response = await world.app.request(tasks, {
      method: "POST",
      body,
      headers: { authorization: `Bearer ${home.owner.token}`, "accept-encoding": "gzip" },
    });
    expect([response.status, response.headers.get("content-encoding")]).toEqual([422, "gzip"]);
    const { detail } = JSON.parse(gunzipSync(Buffer.from(await response.arrayBuffer())).toString());
    expect(detail.length).toBe(102);
  });

  test("a stream is never encoded, so that its events are not delayed", async () => {
    const response = await world.app.request(`${tasks}/stream`, {
      headers: { authorization: `Bearer ${home.owner.token}`, "accept-encoding": "br, gzip" },
    });
    expect([response.status, response.headers.get("content-encoding")]).toEqual([200, null]);
    await response.body!.cancel();
  });
});

test("an encoded answer arrives whole over a socket, with its length", async () => {
  const server = await serve((sent) => world.app.fetch(sent));
  const { headers, bytes } = await new Promise<{ headers: Record<string, unknown>; bytes: Buffer }>((resolve, reject) => {
    const headers = { authorization: `Bearer ${home.owner.token}`, "accept-encoding": "br" };
    const sent = request(`${server.url}${tasks}`, { headers }, (incoming) => {
      void buffer(incoming).then((bytes) => resolve({ headers: incoming.headers, bytes }), reject);
    });
    sent.on("error", reject).end();
  });
  await server.close();
  expect([headers["content-encoding"], headers["content-length"]]).toEqual(["br", String(bytes.length)]);
  expect(JSON.parse(brotliDecompressSync(bytes).toString()).total).toBe(20);
});

/** Returns text that is hard to compress: random printable characters from a fixed seed. */
function noise(length: number): string {
  let state = 7;
  const next = () => (state = (state * 48_271) % 2_147_483_647) % 94;
  return Array.from({ length }, () => String.fromCharCode(33 + next())).join("");
}

test.each(["br", "gzip"] as const)(
  "the largest answer, compressed with %s and then encoded in Base64, fits in a Lambda's answer",
  async (encoding) => {
    const LARGEST_ANSWER = 5_500_000;
    const LARGEST_LAMBDA_ANSWER = 6 * 1024 ** 2;
    const { length } = (await compress(encoding, noise(LARGEST_ANSWER))).toString("base64");
    expect(length).toBeLessThan(LARGEST_LAMBDA_ANSWER);
  },
);

test("a public file whose encoded version could not be read is read again for the next request", async () => {
  let reads = 0;
  const file = await createPublicFiles()("index.html", async () => ({
    headers: { "content-type": "text/html", "cache-control": "no-cache" },
    bytes: Buffer.from("page"),
    async readEncoded() {
      if (++reads === 1) throw new Error("too many open files");
      return Buffer.from("encoded");
    },
  }));
  await expect(file.read("br")).rejects.toThrow("too many open files");
  expect(Buffer.from((await file.read("br")).bytes).toString()).toBe("encoded");
});
