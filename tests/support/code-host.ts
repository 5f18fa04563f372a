import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { jobs } from "@board/core/schema/all-tables";
import { createHttpClient, type LocateHost } from "@board/core/http/https-client";
import type { HttpClient } from "@board/core/context/http-client";
import { packTar, type TarEntry } from "modern-tar";
import { makeCertificate } from "./certificate.ts";
import type { Answer } from "./http.ts";
import { redirectWeb } from "./web-redirect.ts";
import type { Tenant, World } from "./world.ts";

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** A fake code host (GitHub) on loopback over https. */
export interface CodeHost {
  /** A client that connects to this host for every name. */
  web: HttpClient;
  /** A client that trusts this host and resolves names with `locate`. */
  webWith(locate: LocateHost): HttpClient;
  /** The requested paths in order, except paths of skill indexes. */
  requests: string[];
  /** The answers by path. Every other path is 404. */
  answers: Map<string, Handler>;
  /** Sets the files of a repository's branch and makes it the default branch. */
  publish(repository: string, files: Record<string, string>, branch?: string): Promise<void>;
  close(): Promise<void>;
}

export async function startCodeHost(): Promise<CodeHost> {
  const { key, cert } = makeCertificate("codeload.github.com", "raw.githubusercontent.com");
  const answers = new Map<string, Handler>();
  const requests: string[] = [];
  const server = createServer({ key, cert }, (request, response) => {
    if (!request.url!.endsWith("/skills_index.json")) requests.push(request.url!);
    const answer = answers.get(request.url!);
    if (answer) return answer(request, response);
    response.writeHead(404).end("404: Not Found");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const webWith = (locate: LocateHost) => createHttpClient({ locate, ca: cert });
  return {
    web: redirectWeb(
      webWith(async () => ({ addresses: [{ address: "127.0.0.1", family: 4 }], port })),
      { port, ca: cert },
    ),
    webWith,
    requests,
    answers,
    async publish(repository, files, branch = "main") {
      const archive = await buildArchive(files, `${repository.split("/")[1]}-${branch.replaceAll("/", "-")}`);
      for (const ref of [`refs/heads/${branch}`, "HEAD"]) answers.set(archivePath(repository, ref), respondWith(archive));
      const index = files["skills_index.json"];
      if (index === undefined) answers.delete(indexPath(repository, branch));
      else answers.set(indexPath(repository, branch), respondWith(Buffer.from(index)));
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export const archivePath = (repository: string, ref = "refs/heads/main") => `/${repository}/tar.gz/${ref}`;

export const indexPath = (repository: string, branch = "main") => `/${repository}/refs/heads/${branch}/skills_index.json`;

export const respondWith =
  (body: Uint8Array, status = 200, headers: Record<string, string> = {}): Handler =>
  (_request, response) => {
    response.writeHead(status, headers).end(body);
  };

/** Builds an archive like the code host's, with all files in one folder. */
export async function buildArchive(files: Record<string, string>, root = "repo-main"): Promise<Buffer> {
  const entries = Object.entries(files).map(([name, text]) => fileEntry(`${root}/${name}`, text));
  return gzipSync(await packTar([{ header: { name: `${root}/`, size: 0, type: "directory" } }, ...entries]));
}

export const fileEntry = (name: string, text: string): TarEntry => ({
  header: { name, size: Buffer.byteLength(text), type: "file" },
  body: text,
});

export const skillFile = (name: string, description = `What ${name} does`) =>
  `---\nname: ${name}\ndescription: ${description}\n---\n`;

/** Returns functions that send requests for packs as the owner of a tenant. */
export function createPackCalls(world: World, { owner: { token } }: Tenant, base = "/api/v1/skills") {
  return {
    add: async (repository: string, more: object = {}): Promise<{ id: string }> =>
      (await world.call("POST", `${base}/packs`, { token, body: { source_url: `https://github.com/${repository}`, ...more } }))
        .body,
    sync: (id: string, options: { headers?: Record<string, string> } = {}): Promise<Answer> =>
      world.call("POST", `${base}/packs/${id}/sync`, { token, ...options }),
    run: (id: string, run_id: string): Promise<Answer> => world.call("GET", `${base}/packs/${id}/sync/${run_id}`, { token }),
    get: (id: string): Promise<Answer> => world.call("GET", `${base}/packs/${id}`, { token }),
    /** Returns the job of a run. */
    async job(run_id: string) {
      const all = await world.db.select().from(jobs);
      return all.find(({ payload }) => (payload as { run_id?: string }).run_id === run_id)!;
    },
    /** Returns the skills of a pack by URL. */
    async skills(id: string) {
      const { body } = await world.call("GET", `${base}/marketplace?pack_id=${id}`, { token });
      return (body as { source_url: string; [field: string]: unknown }[]).toSorted((a, b) =>
        a.source_url < b.source_url ? -1 : 1,
      );
    },
  };
}
