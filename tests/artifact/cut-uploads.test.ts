/** Tests files of the maximum size, interrupted uploads and killed processes, with a folder and with a bucket as storage. */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readdirSync, statSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import path from "node:path";
import { createClient, type NewArtifact } from "@board/client";
import { afterAll, expect, test, vi } from "vitest";
import { startFakeBucket } from "../support/fake-bucket.ts";
import { freePort } from "../support/free-port.ts";
import { setup } from "../support/fixtures.ts";
import { cleanUpPrograms, dataFolder, type Program, readToken, startProgram } from "../support/program.ts";
import { sha256 } from "./artifact-fixture.ts";

afterAll(cleanUpPrograms);

const CONTENT = randomBytes(26_214_400);
const HALF = CONTENT.length / 2;
const WAIT = { timeout: 60_000, interval: 20 };
const bucket = await setup(startFakeBucket());

const STORAGES = {
  folder: {},
  bucket: {
    WEBHOOK_BODY_STORAGE: "s3://bodies/stage",
    AWS_ENDPOINT_URL_S3: bucket.url,
    AWS_REGION: "us-east-1",
    AWS_ACCESS_KEY_ID: "key",
    AWS_SECRET_ACCESS_KEY: "secret",
  },
};

async function startStorage(environment: Record<string, string>) {
  const folder = dataFolder();
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const start = async (): Promise<Program> => {
    const program = startProgram("main", { DATA_DIR: folder, PORT: String(port), LOG_LEVEL: "error", ...environment });
    await program.waitForOutput(/ready at/);
    return program;
  };
  let program = await start();
  const token = await readToken(program);
  const authorization = `Bearer ${token}`;
  const api = createClient({ url, token });
  const { id: board_id } = await api.post("/api/v1/boards", {
    body: { name: "Harbour", description: "Files", gateway: "pull" },
  });
  const { id: task_id } = await api.post("/api/v1/boards/{board_id}/tasks", {
    params: { path: { board_id } },
    body: { title: "Keep the video" },
  });
  const item = "/api/v1/boards/{board_id}/artifacts/{artifact_id}";
  const pathOf = (artifact_id: string) => ({ params: { path: { board_id, artifact_id } } });
  const headersOf = ({ upload }: NewArtifact) => ({ ...upload!.headers, ...(upload!.authenticated ? { authorization } : {}) });
  const addressOf = ({ upload }: NewArtifact) => new URL(upload!.url, url);
  return {
    /** Returns the sizes of the files that are being written. */
    parts: (): number[] => {
      const parts = path.join(folder, "files", "parts");
      return readdirSync(parts).map((name) => statSync(path.join(parts, name)).size);
    },
    announce: () =>
      api.post("/api/v1/boards/{board_id}/tasks/{task_id}/artifacts", {
        params: { path: { board_id, task_id } },
        body: { name: "video.bin", size: CONTENT.length, sha256: sha256(CONTENT) },
      }),
    read: (id: string) => api.get(item, pathOf(id)),
    complete: (id: string) => api.post(`${item}/complete`, pathOf(id)),
    /** Uploads on a new connection, because a pooled connection may lead to a process that has ended. */
    upload: async (file: NewArtifact) => {
      const headers = { ...headersOf(file), "content-length": CONTENT.length };
      const sending = request(addressOf(file), { method: "PUT", headers, agent: false }).end(CONTENT);
      const [answer] = (await once(sending, "response")) as [IncomingMessage];
      answer.resume();
      return answer.statusCode;
    },
    /** Sends the first half, and leaves the connection open. */
    sendHalf: async (file: NewArtifact) => {
      const { hostname, port, pathname, search } = addressOf(file);
      const socket = connect(Number(port), hostname);
      socket.on("error", () => {});
      const headers = Object.entries({ ...headersOf(file), host: `${hostname}:${port}`, "content-length": CONTENT.length });
      socket.write(
        `PUT ${pathname}${search} HTTP/1.1\r\n${headers.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`,
      );
      await new Promise((resolve) => socket.write(CONTENT.subarray(0, HALF), resolve));
      return socket;
    },
    download: async (id: string, range?: string) => {
      const headers = { authorization, ...(range ? { range } : {}) };
      const answer = await fetch(`${url}/api/v1/boards/${board_id}/artifacts/${id}/content`, { headers });
      return {
        status: answer.status,
        range: answer.headers.get("content-range"),
        bytes: Buffer.from(await answer.arrayBuffer()),
      };
    },
    killAndRestart: async () => {
      await program.stop("SIGKILL");
      program = await start();
    },
  };
}

const storages = { folder: await startStorage(STORAGES.folder), bucket: await startStorage(STORAGES.bucket) };
const KINDS = Object.keys(STORAGES) as (keyof typeof STORAGES)[];

test.each(KINDS)("25 MB are uploaded to a %s and downloaded, whole and in parts, and a wrong range is refused", async (kind) => {
  const { announce, upload, complete, download } = storages[kind];
  const file = await announce();
  expect(await upload(file)).toBe(200);
  expect((await complete(file.id)).status).toBe("ready");
  expect(sha256((await download(file.id)).bytes)).toBe(sha256(CONTENT));
  for (const [range, start, end] of [
    ["bytes=0-9", 0, 10],
    ["bytes=20000000-20000009", 20_000_000, 20_000_010],
    ["bytes=26214390-", 26_214_390, CONTENT.length],
    ["bytes=-10", 26_214_390, CONTENT.length],
    ["bytes=26214390-99999999", 26_214_390, CONTENT.length],
  ] as const) {
    const part = await download(file.id, range);
    expect([part.status, part.range]).toEqual([206, `bytes ${start}-${end - 1}/${CONTENT.length}`]);
    expect(part.bytes.equals(CONTENT.subarray(start, end))).toBe(true);
  }
  expect((await download(file.id, "bytes=26214400-")).status).toBe(416);
  for (const ignored of ["bytes=9-3", "lines=1-2", "bytes=x"]) {
    const whole = await download(file.id, ignored);
    expect([whole.status, whole.bytes.length]).toEqual([200, CONTENT.length]);
  }
});

test.each(KINDS)("an upload to a %s that is cut in the middle stores nothing, and succeeds when repeated", async (kind) => {
  const { announce, sendHalf, read, complete, upload, download, parts } = storages[kind];
  const file = await announce();
  const before = bucket.objects.size;
  const socket = await sendHalf(file);
  await vi.waitUntil(() => kind === "bucket" || parts().some((size) => size > 0), WAIT);
  socket.destroy();
  await vi.waitUntil(() => kind === "bucket" || parts().length === 0, WAIT);
  expect(bucket.objects.size).toBe(before);
  await expect(complete(file.id)).rejects.toMatchObject({ status: 409 });
  expect([(await read(file.id)).status, (await download(file.id)).status]).toEqual(["uploading", 409]);
  expect(await upload(file)).toBe(200);
  expect((await complete(file.id)).status).toBe("ready");
  expect(sha256((await download(file.id)).bytes)).toBe(sha256(CONTENT));
});

test("an upload during which the service is killed is not stored, and succeeds when it is sent to the next process", async () => {
  const { announce, sendHalf, read, complete, upload, download, parts, killAndRestart } = storages.folder;
  const file = await announce();
  await sendHalf(file);
  await vi.waitFor(() => expect(Math.max(0, ...parts())).toBeGreaterThan(0), WAIT);
  await killAndRestart();
  await expect(complete(file.id)).rejects.toMatchObject({ status: 409 });
  expect([(await read(file.id)).status, (await download(file.id)).status]).toEqual(["uploading", 409]);
  expect(await upload(file)).toBe(200);
  expect((await complete(file.id)).status).toBe("ready");
  expect(sha256((await download(file.id)).bytes)).toBe(sha256(CONTENT));
});

test("an upload to the bucket continues while the service is killed, and the next process completes it", async () => {
  const { announce, sendHalf, complete, download, killAndRestart } = storages.bucket;
  const file = await announce();
  const socket = await sendHalf(file);
  await killAndRestart();
  let answer = "";
  socket.on("data", (data) => (answer += String(data)));
  socket.write(CONTENT.subarray(HALF));
  await vi.waitFor(() => expect(answer).toContain("200 OK"), WAIT);
  socket.destroy();
  expect((await complete(file.id)).status).toBe("ready");
  expect(sha256((await download(file.id)).bytes)).toBe(sha256(CONTENT));
});
