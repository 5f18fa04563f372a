import { endpoints } from "@board/api/groups";
import { gateways } from "@board/core/db/schema";
import { readSubjects } from "@board/core/template/context";
import type { AgentRole, FileName } from "@board/core/template/files";
import { eq } from "drizzle-orm";
import { expect } from "vitest";
import { actAs } from "./main-agent.ts";
import { cleanUp } from "./program.ts";
import { serve } from "./template-commands.ts";
import { filesOf } from "./template-subject.ts";
import { createWorld, type Tenant, type World } from "./world.ts";

export type Files = Record<FileName, string>;

interface Operation {
  operationId: string;
  "x-llm-intent": string;
  "x-when-to-use": string[];
  "x-routing-policy": string[];
}
interface Document {
  paths: Record<string, Record<string, Operation>>;
}

/** A tenant whose agents have their files, and the service that these speak of. */
export interface Office {
  world: World;
  home: Tenant;
  url: string;
  /** What `/openapi.json` answers. */
  document: Document;
  actors: Record<AgentRole, { id: string; token: string }>;
  files: Record<AgentRole, Files>;
  close(): Promise<void>;
}

export async function openOffice(): Promise<Office> {
  const world = await createWorld();
  const home = await world.tenant("home");
  const service = await serve((request) => world.app.fetch(request));
  const actors = { lead: home.lead, worker: home.worker, main: await actAs(world, home.gateway_id) };
  const [gateway] = await world.db.select().from(gateways).where(eq(gateways.id, home.gateway_id));
  const read = async (role: AgentRole): Promise<Files> => {
    const [subject] = await readSubjects(world.context(), gateway!, [actors[role].id], null);
    return filesOf(subject!, { auth_token: actors[role].token, base_url: service.url });
  };
  return {
    world,
    home,
    url: service.url,
    document: (await world.call("GET", "/openapi.json")).body,
    actors,
    files: { lead: await read("lead"), worker: await read("worker"), main: await read("main") },
    async close() {
      await service.close();
      await world.close();
      await cleanUp();
    },
  };
}

export const rowsOf = (lines: string): string[][] =>
  lines
    .trimEnd()
    .split("\n")
    .map((line) => line.split("\t"));

/** What the index of a role has to say: the operations that the route table gives it, with the hints of the document. */
export const indexOf = (role: AgentRole, document: Document): string[][] =>
  endpoints
    .filter(({ spec }) => spec.agent?.roles.includes(role))
    .flatMap(({ method, paths }) => paths.map((at) => ({ method, at, operation: document.paths[at]![method.toLowerCase()]! })))
    .map(({ method, at, operation }) => [
      method,
      at,
      operation.operationId,
      operation["x-llm-intent"],
      operation["x-when-to-use"].join("; "),
      operation["x-routing-policy"].join("; "),
    ])
    .toSorted(byAddress);

export const byAddress = (one: string[], other: string[]): number => (`${one[1]} ${one[0]}` < `${other[1]} ${other[0]}` ? -1 : 1);

/** What is shown of the look-up of a board. */
export const lookUp = (document: Document) => ({
  operationId: document.paths["/api/v1/agent/boards/{board_id}"]!["get"]!.operationId,
  parameters: [{ name: "board_id", in: "path", required: true }],
  body: null,
  actor: "any_agent",
  never: [expect.any(String)],
});
