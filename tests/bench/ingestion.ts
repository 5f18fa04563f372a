import { load } from "./load.ts";
import { CONNECTIONS, type BenchEnvironment } from "./environment.ts";
import { rate, round, type Row } from "./row.ts";

/** Measures webhook posts of a usual size while the agent is notified of them. */
export async function benchIngestion({
  service,
  webhook,
  count,
  compareToBaseline,
  compareToFloor,
}: BenchEnvironment): Promise<Row[]> {
  const body = JSON.stringify({
    ref: "refs/heads/main",
    commits: Array.from({ length: 5 }, (_, n) => ({ id: n, message: "x".repeat(100) })),
  });
  const url = service.url + webhook.endpoint_path;
  const headers = { "content-type": "application/json" };
  const post = (requests: number) =>
    load({ url, method: "POST", headers, body, connections: CONNECTIONS, requests, status: 202 });
  await post(500);
  const figures = await post(5_000);
  const request = () => fetch(url, { method: "POST", headers, body });
  const floor = await compareToFloor(figures, request);
  const statements = await count(request);
  const what = "webhook posts accepted";
  return [{ what, figure: rate(figures), target: "1,500/s", ...compareToBaseline(figures), ...floor, statements }];
}

const POSTS = 1_000;
const APART_MS = 10;

/** Measures the time from a post to the message at the host, at 100 posts a second. */
export async function benchNotification({ service, webhook, host, waitForJobs }: BenchEnvironment): Promise<Row[]> {
  await waitForJobs();
  const sentAt = new Map<string, number>();
  const receivedAt = new Map<string, number>();
  const stop = host.onMessage(({ message }) => {
    receivedAt.set(/Payload ID: (\S+)/.exec(message)?.[1] ?? "", performance.now());
  });
  const posts: Promise<void>[] = [];
  for (let n = 0; n < POSTS; n++) {
    const start = performance.now();
    const sent = fetch(service.url + webhook.endpoint_path, { method: "POST", body: `{"n":${n}}` });
    posts.push(
      sent
        .then((answer) => answer.json())
        .then((answer) => void sentAt.set((answer as { payload_id: string }).payload_id, start)),
    );
    await new Promise((resolve) => setTimeout(resolve, APART_MS));
  }
  await Promise.all(posts);
  await waitForJobs();
  stop();
  const waits = [...sentAt].map(([id, start]) => (receivedAt.get(id) ?? Number.POSITIVE_INFINITY) - start);
  waits.sort((a, b) => a - b);
  const at = (share: number) => `${round(waits[Math.floor((waits.length - 1) * share)]!)} ms`;
  return [
    {
      what: "post to message at the host, 100/s, one agent",
      figure: `p50 ${at(0.5)}, p99 ${at(0.99)}`,
      target: "p50 1 s, p99 5 s",
      baseline: "",
      ratio: "",
      statements: "",
    },
  ];
}
