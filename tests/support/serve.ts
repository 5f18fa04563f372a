import type { AddressInfo } from "node:net";
import type { Server } from "node:http";
import { createAdaptorServer } from "@hono/node-server";

/** Serves on a socket on loopback. `fetch` gets each request and returns the response. */
export async function serve(
  fetch: (request: Request) => Response | Promise<Response>,
  port = 0,
): Promise<{ url: string; port: number; close(): Promise<void> }> {
  const server = createAdaptorServer({ fetch }) as Server;
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const used = (server.address() as AddressInfo).port;
  return {
    url: `http://127.0.0.1:${used}`,
    port: used,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
