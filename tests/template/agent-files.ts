import { endpoints } from "@board/api/groups";
import { hintsOf } from "@board/api/guidance/hints";
import { gateways } from "@board/core/schema/all-tables";
import { readSubjects } from "@board/openclaw/template/template-data";
import type { AgentRole, FileName } from "@board/openclaw/template/files";
import { eq } from "drizzle-orm";
import { expect } from "vitest";
import { actAsMainAgent } from "../support/main-agent.ts";
import { cleanUpPrograms } from "../support/program.ts";
import { serve } from "../support/serve.ts";
import { filesOf } from "./subject-fixture.ts";
import { createWorld, type Tenant, type World } from "../support/world.ts";

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

/** A tenant whose agents have their files, and the service to which these files refer. */
export interface AgentFilesFixture {
  world: World;
  home: Tenant;
  url: string;
  /** The response of `/openapi.json`. */
  document: Document;
  actors: Record<AgentRole, { id: string; token: string }>;
  files: Record<AgentRole, Files>;
  close(): Promise<void>;
}

export async function openAgentFilesFixture(): Promise<AgentFilesFixture> {
  const world = await createWorld();
  const home = await world.tenant("home");
  const service = await serve((request) => world.app.fetch(request));
  const actors = { lead: home.lead, worker: home.worker, main: await actAsMainAgent(world, home.gateway_id) };
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
      await cleanUpPrograms();
    },
  };
}

export const parseTsv = (lines: string): string[][] =>
  lines
    .trimEnd()
    .split("\n")
    .map((line) => line.split("\t"));

/** Returns the expected index of a role: its operations in the route table, with the hints of the OpenAPI document. */
export const expectedIndex = (role: AgentRole, document: Document): string[][] =>
  endpoints
    .filter(({ spec }) => spec.agent && hintsOf(spec.agent).roles.includes(role))
    .flatMap(({ method, paths }) => paths.map((at) => ({ method, at, operation: document.paths[at]![method.toLowerCase()]! })))
    .map(({ method, at, operation }) => [
      method,
      at,
      operation.operationId,
      operation["x-llm-intent"],
      operation["x-when-to-use"].join("; "),
      operation["x-routing-policy"].join("; "),
    ])
    .toSorted(compareByAddress);

export const compareByAddress = (one: string[], other: string[]): number =>
  `${one[1]} ${one[0]}` < `${other[1]} ${other[0]}` ? -1 : 1;

/** Returns the expected output of the lookup of one operation, the reading of a board. */
export const expectedBoardLookup = (document: Document) => ({
  operationId: document.paths["/api/v1/agent/boards/{board_id}"]!["get"]!.operationId,
  parameters: [{ name: "board_id", in: "path", required: true }],
  body: null,
  actor: "any_agent",
  never: [expect.any(String)],
});
