import http from "node:http";

export interface Load {
  url: string;
  method?: string;
  headers?: Record<string, string>;
  body?: string;
  connections: number;
  /** The number of requests. */
  requests: number;
  /** The status that counts as success. */
  status?: number;
  /** The path, body and further headers of the n-th request, when requests differ. */
  nth?: (n: number) => { path: string; body?: string; headers?: Record<string, string> };
}

export interface Figures {
  per_second: number;
  p50_ms: number;
  p99_ms: number;
  failed: number;
}

/** Sends requests over persistent connections, each as soon as its connection is free. */
export async function load({
  url,
  method = "GET",
  headers = {},
  body,
  connections,
  requests,
  status = 200,
  nth,
}: Load): Promise<Figures> {
  const agent = new http.Agent({ keepAlive: true, maxSockets: connections });
  const times: number[] = [];
  let sent = 0;
  let failed = 0;
  const target = new URL(url);
  const same = { path: target.pathname + target.search, body, headers: {} };
  const { hostname: host, port } = target;

  const one = (n: number) =>
    new Promise<void>((resolve) => {
      const { path, body, headers: own = {} } = nth?.(n) ?? same;
      const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
      const options = { agent, method, host, port, path, headers: { ...headers, ...own, ...length } };
      const start = performance.now();
      const end = (good: boolean) => {
        if (!good) failed++;
        times.push(performance.now() - start);
        resolve();
      };
      const request = http.request(options, (response) => {
        response.resume();
        response.on("end", () => end(response.statusCode === status));
      });
      request.on("error", () => end(false));
      request.end(body);
    });
  const worker = async () => {
    while (sent < requests) await one(sent++);
  };
  const start = performance.now();
  await Promise.all(Array.from({ length: connections }, worker));
  const seconds = (performance.now() - start) / 1000;
  agent.destroy();
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))]!;
  return { per_second: requests / seconds, p50_ms: at(0.5), p99_ms: at(0.99), failed };
}
