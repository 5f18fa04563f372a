import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { createHttpClient } from "@board/core/http/https-client";
import type { HttpClient } from "@board/core/context/http-client";
import { makeCertificate } from "./certificate.ts";
import { redirectWeb } from "./web-redirect.ts";

export const DIRECTORY = "https://souls.example";

/** A fake remote soul directory on loopback. */
interface FakeSoulsDirectory {
  /** A client that connects to it for the name `souls.example`. */
  web: HttpClient;
  /** The pages by path: a text, or a text with a status. */
  pages: Map<string, string | { status: number; text?: string; headers?: Record<string, string> }>;
  /** The requested paths in order. */
  requests: string[];
  /** While set, answers wait for this promise. */
  gate: Promise<void> | null;
  /** While true, every connection is cut. */
  isDown: boolean;
  /** Replaces all pages by a sitemap and the texts of these `handle/slug`. */
  publish(souls: Record<string, string>): void;
  close(): Promise<void>;
}

export async function startFakeSoulsDirectory(): Promise<FakeSoulsDirectory> {
  const certificate = makeCertificate("souls.example");
  const server = createServer(certificate, (request, response) => {
    const path = request.url ?? "";
    remote.requests.push(path);
    if (remote.isDown) return void request.socket.destroy();
    const page = remote.pages.get(path) ?? { status: 404, text: "Nothing here" };
    const { status = 200, text = "", headers = {} } = typeof page === "string" ? { text: page } : page;
    const answer = () => response.writeHead(status, headers).end(text);
    if (remote.gate) void remote.gate.then(answer);
    else answer();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const remote: FakeSoulsDirectory = {
    web: redirectWeb(
      createHttpClient({
        ca: certificate.cert,
        locate: async () => ({ addresses: [{ address: "127.0.0.1", family: 4 }], port }),
      }),
      { port, ca: certificate.cert },
    ),
    pages: new Map(),
    requests: [],
    gate: null,
    isDown: false,
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
