import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { type LocalService, startLocalService } from "../support/local-service.ts";
import { cleanUpPrograms, dataFolder, runProgram, temporaryFolder } from "../support/program.ts";

afterEach(cleanUpPrograms);

const MEGABYTE = 1_000_000;

interface Disk {
  folder: string;
  environment: Record<string, string>;
  become(state: "empty" | "reported" | "growth" | "log"): void;
}

/** Opens a data folder on a disk that the test fills. */
function openDisk(folder: string): Disk {
  const file = path.join(temporaryFolder(), "disk");
  const preload = path.join(import.meta.dirname, "full-disk.cjs");
  return {
    folder,
    environment: { DATA_DIR: folder, FULL_DISK_FILE: file, NODE_OPTIONS: `--require ${JSON.stringify(preload)}` },
    become: (state) => writeFileSync(file, state),
  };
}

async function start(disk: Disk) {
  const program = await startLocalService(disk.folder, { WEBHOOK_RATE_PER_MINUTE: "0", ...disk.environment });
  const request: LocalService["call"] = (...args) => program.call(...args);
  return {
    program,
    request,
    status: async (target: string) => (await request("GET", target)).status,
    isReady: async () => (await request("GET", "/readyz")).status === 200,
  };
}
type Service = Awaited<ReturnType<typeof start>>;

/** Creates a webhook and returns its path. */
async function createWebhook({ request }: Service): Promise<string> {
  const create = async (at: string, body: object) => (await request("POST", at, { body })).body;
  const gateway = await create("/api/v1/gateways", { name: "Host", url: "ws://127.0.0.1:9", workspace_root: "/srv" });
  const board = await create("/api/v1/boards", { name: "Shop", description: "A shop", gateway_id: gateway.id });
  return (await create(`/api/v1/boards/${board.id}/webhooks`, { description: "Look into it" })).endpoint_path;
}

const post = (service: Service, webhook: string, bytes = 10) =>
  service.request("POST", webhook, { raw: randomBytes(bytes / 2).toString("hex") });

const compareIds = (one: string, other: string) => one.localeCompare(other);

async function storedIds({ request }: Service, webhook: string): Promise<string[]> {
  const { body } = await request("GET", `${webhook}/payloads?limit=200`);
  return body.items.map((item: { id: string }) => item.id).sort(compareIds);
}

/** Posts until the database cannot grow any more, and returns the ids of the accepted posts. */
async function postUntilFull(service: Service, webhook: string): Promise<string[]> {
  const accepted: string[] = [];
  for (let number = 0; number < 100; number++) {
    const { status, body } = await post(service, webhook, MEGABYTE);
    if (status === 503) return accepted;
    expect(status).toBe(202);
    accepted.push(body.payload_id);
  }
  throw new Error("The disk never became full");
}

test("while the disk is almost full, writes get 503 and reads still work, and writes work again once space is free", async () => {
  const folder = dataFolder();
  const disk = openDisk(folder);
  const service = await start(disk);
  const webhook = await createWebhook(service);
  const accepted = [(await post(service, webhook)).body.payload_id];

  disk.become("reported");
  await vi.waitUntil(async () => !(await service.isReady()), { timeout: 10_000 });
  const refused = await post(service, webhook);
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"]);
  expect(await storedIds(service, webhook)).toEqual(accepted);
  expect(await service.status("/healthz")).toBe(200);
  const [line] = service.program.stdout.split("\n").filter((text) => text.includes("database.disk_full"));
  expect(JSON.parse(line!)).toMatchObject({ level: "error", message: expect.stringContaining(path.join(folder, "database")) });
  expect(JSON.parse(line!).message).toContain("move DATA_DIR to a larger disk");

  disk.become("empty");
  await vi.waitUntil(service.isReady, { timeout: 10_000 });
  accepted.push((await post(service, webhook)).body.payload_id);
  expect(await storedIds(service, webhook)).toEqual([...accepted].sort(compareIds));
});

test("a database that crashes on a full disk answers 503, and is opened again with every accepted post", async () => {
  const disk = openDisk(dataFolder());
  const service = await start(disk);
  const webhook = await createWebhook(service);

  disk.become("log");
  const accepted = await postUntilFull(service, webhook);
  expect((await post(service, webhook)).status).toBe(503);
  expect([await service.status("/healthz"), await service.status("/readyz")]).toEqual([200, 503]);

  disk.become("empty");
  await vi.waitUntil(service.isReady, { timeout: 30_000, interval: 200 });
  accepted.push((await post(service, webhook)).body.payload_id);
  expect(await storedIds(service, webhook)).toEqual(expect.arrayContaining(accepted));
});

test.each(["reported", "growth", "log"] as const)(
  "a signal stops the service while its disk is full (%s), and the next start has every accepted post",
  async (state) => {
    const disk = openDisk(dataFolder());
    const service = await start(disk);
    const webhook = await createWebhook(service);
    disk.become(state);
    const accepted = await postUntilFull(service, webhook);
    // The exit code is not compared, because a stop that exceeds its time limit on a busy machine exits with 1.
    expect((await service.program.stop("SIGTERM")).signal).toBeNull();

    disk.become("empty");
    const next = await start(disk);
    expect(await storedIds(next, webhook)).toEqual(expect.arrayContaining(accepted));
  },
);

test("a start on a full disk is refused with one line that names the folder and the remedy", async () => {
  const folder = dataFolder();
  const disk = openDisk(folder);
  disk.become("reported");
  const refused = await runProgram("main", { PORT: "0", ...disk.environment });
  expect(refused).toMatchObject({ code: 1, stdout: expect.stringMatching(/^Starting at \S+ …\n$/) });
  expect(refused.stderr).toMatch(/^The disk of .*database is full: .*Free space on it, or move DATA_DIR to a larger disk\.\n$/);
  expect(refused.stderr).toContain(folder);
});
