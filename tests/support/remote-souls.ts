import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { createWeb } from "@board/core/web/https";
import type { Web } from "@board/core/web/web";
import { makeCertificate } from "./certificate.ts";
import { leadsTo } from "./other-servers.ts";

export const DIRECTORY = "https://souls.example";

/** A souls directory of somebody else, on loopback. */
export interface RemoteSouls {
  /** Leads to it by its name, `souls.example`. */
  web: Web;
  /** What it has, by path: a text, or a status with it. */
  pages: Map<string, string | { status: number; text?: string; headers?: Record<string, string> }>;
  /** Paths that were asked for, in order. */
  asked: string[];
  /** While set, no answer leaves before it is settled. */
  gate: Promise<void> | null;
  /** From now on every connection is cut, or no more. */
  down: boolean;
  /** Puts a sitemap and texts there for these `handle/slug`, and takes away all else. */
  publish(souls: Record<string, string>): void;
  close(): Promise<void>;
}

export async function startRemoteSouls(): Promise<RemoteSouls> {
  const certificate = makeCertificate("souls.example");
  const server = createServer(certificate, (request, response) => {
    const path = request.url ?? "";
    remote.asked.push(path);
    if (remote.down) return void request.socket.destroy();
    const page = remote.pages.get(path) ?? { status: 404, text: "Nothing here" };
    const { status = 200, text = "", headers = {} } = typeof page === "string" ? { text: page } : page;
    const answer = () => response.writeHead(status, headers).end(text);
    if (remote.gate) void remote.gate.then(answer);
    else answer();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const remote: RemoteSouls = {
    web: leadsTo(
      createWeb({ ca: certificate.cert, locate: async () => ({ addresses: [{ address: "127.0.0.1", family: 4 }], port }) }),
      { port, ca: certificate.cert },
    ),
    pages: new Map(),
    asked: [],
    gate: null,
    down: false,
    publish(souls) {
      remote.pages.clear();
      const locs = Object.keys(souls).map((name) => `<url><loc>${DIRECTORY}/souls/${name}</loc></url>`);
      remote.pages.set("/sitemap.xml", `<?xml version="1.0"?><urlset>${locs.join("")}</urlset>`);
      for (const [name, text] of Object.entries(souls)) remote.pages.set(`/api/souls/${name}.md`, text);
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return remote;
}
