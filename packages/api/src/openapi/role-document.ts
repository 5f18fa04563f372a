import type { Endpoint } from "../endpoint.ts";
import { type AgentHints, hintsOf } from "../guidance/hints.ts";
import { type Addresses, buildOpenApiDocument } from "./openapi.ts";
import { compactDocument } from "./compact-document.ts";
import { isUnversionedTwin } from "./operation-id.ts";
import { rolesThatMayCall } from "./tags.ts";
import type { OpenApiDocument } from "../runtime.ts";

/** The roles that have their own OpenAPI document. */
export type DocumentRole = `agent-${AgentRole}` | "user";

/**
 * Builds the OpenAPI document of one role. It has the operations that the role may call, without their unversioned aliases. The
 * document of an agent is shortened.
 */
export function buildRoleDocument(endpoints: readonly Endpoint[], addresses: Addresses, role: DocumentRole): OpenApiDocument {
  const isIncluded = role === "user" ? isForUsers : isForAgent(role.slice("agent-".length) as AgentRole);
  const included = endpoints.filter(isIncluded).map((endpoint) => ({ ...endpoint, paths: versionedPaths(endpoint) }));
  const document = buildOpenApiDocument(included, addresses);
  return role === "user" ? document : compactDocument(document, role);
}

type AgentRole = AgentHints["roles"][number];

const isForUsers = ({ spec }: Endpoint): boolean => spec.as.users || !spec.as.agents;

/**
 * Selects operations that are intended for agents. Agents may also call some operations of people, but most of them have a variant
 * for agents.
 */
const isForAgent =
  (role: AgentRole) =>
  ({ spec }: Endpoint): boolean =>
    spec.agent !== undefined && hintsOf(spec.agent).roles.includes(role) && rolesThatMayCall(spec.as.name).includes(role);

const versionedPaths = (endpoint: Endpoint): string[] => endpoint.paths.filter((path) => !isUnversionedTwin(endpoint, path));
