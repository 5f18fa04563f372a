/** The console with a bucket, which is another origin. The browser enforces what pages of one origin may do with another. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeEach, expect, test, vi } from "vitest";
import { documentedCorsRule } from "../../support/bucket-rule.ts";
import { startFakeBucket } from "../../support/fake-bucket.ts";
import { setup } from "../../support/fixtures.ts";
import { dataFolder } from "../../support/program.ts";
import { makeBoard, makeTask, openConsole, setupBrowser, startService, WAIT } from "./console-fixture.ts";
import { freePort } from "../../support/free-port.ts";

const browser = await setupBrowser();
const bucket = await setup(startFakeBucket());
const service = await startService(dataFolder(), await freePort(), {
  WEBHOOK_BODY_STORAGE: "s3://bodies/stage",
  AWS_ENDPOINT_URL_S3: bucket.url,
  AWS_REGION: "us-east-1",
  AWS_ACCESS_KEY_ID: "key",
  AWS_SECRET_ACCESS_KEY: "secret",
});
const { api } = service;
const downloads = mkdtempSync(path.join(tmpdir(), "downloads-"));
afterAll(() => rmSync(downloads, { recursive: true }));
const view = await openConsole(await browser.createBrowserContext(), service.link, [bucket.url]);
const devTools = await view.page.createCDPSession();
await devTools.send("Page.setDownloadBehavior", { behavior: "allow", downloadPath: downloads });
const { id: board_id } = await makeBoard(api, "Harbour");

beforeEach(() => {
  bucket.cors = documentedCorsRule();
  bucket.state = "up";
  bucket.calls.length = 0;
});

const LIMIT = 26_214_400;
const LINE = "0123456789abcde\n";

async function openTask(title: string): Promise<string> {
  const { id: task_id } = await makeTask(api, board_id, title);
  await view.go(`#/boards/${board_id}/tasks/${task_id}`);
  await view.sees(".story h2", title);
  await view.sees(".story", "There are no files.");
  return task_id;
}
const listFiles = async (task_id: string) =>
  (await api.get("/api/v1/boards/{board_id}/tasks/{task_id}/artifacts", { params: { path: { board_id, task_id } } })).items;
const choose = (name: string, size: number, type = "text/plain") =>
  view.page.evaluate(`(() => {
    const input = document.querySelector('.story input[type="file"]');
    const transfer = new DataTransfer();
    transfer.items.add(new File([${JSON.stringify(LINE)}.repeat(${size / LINE.length})], ${JSON.stringify(name)}, { type: ${JSON.stringify(type)} }));
    input.files = transfer.files;
    input.dispatchEvent(new Event("change", { bubbles: true }));
  })()`);

test("with the documented CORS rule, a page sends a file of 25 MB to the bucket and saves it from there", async () => {
  await openTask("Keep the video");
  await choose("video.txt", LIMIT, "text/html");
  await view.sees(".story .rows", "25.0 MB");
  expect(bucket.calls).toEqual([
    expect.stringMatching(/^OPTIONS PUT/),
    expect.stringMatching(/^PUT/),
    expect.stringMatching(/^GET/),
  ]);
  await vi.waitFor(async () => expect(await view.count('[aria-label="Save video.txt"]')).toBe(1), WAIT);
  await view.click("Save video.txt");
  await vi.waitFor(() => expect(readdirSync(downloads)).toEqual(["video.txt"]), WAIT);
  expect(readFileSync(path.join(downloads, "video.txt"), "latin1") === LINE.repeat(LIMIT / LINE.length)).toBe(true);
  expect([view.errors, view.outside]).toEqual([[], []]);
});

test("a text in the bucket is shown in the page", async () => {
  const task_id = await openTask("Read the log");
  await choose("log.txt", 320_000);
  await view.sees(".story .rows", "312.5 KB");
  const [file] = await listFiles(task_id);
  await view.go(`#/boards/${board_id}/tasks/${task_id}/files/${file!.id}`);
  await view.sees(".file-text", LINE.trim());
  expect([view.errors, view.outside]).toEqual([[], []]);
});

test("a small file is sent in one request, without the bucket", async () => {
  await openTask("Keep the note");
  await choose("note.txt", 262_144);
  await view.sees(".story .rows", "256.0 KB");
  // The page sends an OPTIONS request before it sends anything to a bucket. Without one, it sent nothing there.
  expect(bucket.calls.filter((call) => call.startsWith("OPTIONS"))).toEqual([]);
});

test.each([
  ["has no CORS rule", () => void (bucket.cors = null)],
  ["allows other pages only", () => void (bucket.cors = { ...documentedCorsRule(), AllowedOrigins: ["https://other.example"] })],
  ["refuses the file", () => void (bucket.state = "refusing")],
])(
  "when the bucket %s, the page says that the storage failed, and no file that cannot arrive stays in the task",
  async (why, fail) => {
    const task_id = await openTask(`The bucket ${why}`);
    fail();
    await choose("lost.txt", 320_000);
    await view.sees(".notices", "“lost.txt” was not added");
    await view.sees(".notices", "The storage of files");
    await view.sees(".story", "There are no files.");
    expect(await listFiles(task_id)).toEqual([]);
    await view.page.locator('[aria-label="Close this notice"]').click();
  },
);

test("when the bucket does not let the page read a file, the page blames the storage and not the service", async () => {
  const task_id = await openTask("Read the other log");
  await choose("other.txt", 320_000);
  await view.sees(".story .rows", "312.5 KB");
  const [file] = await listFiles(task_id);
  bucket.cors = null;
  await view.go(`#/boards/${board_id}/tasks/${task_id}/files/${file!.id}`);
  await view.sees(".file-view", "The storage of files did not answer, or does not allow this page.");
  expect(await view.page.evaluate("document.body.innerText")).not.toContain("The service does not answer");
});
