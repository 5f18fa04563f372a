import type { AgentHints, Endpoint } from "../endpoint.ts";
import { type Addresses, buildOpenApiDocument } from "./openapi.ts";
import { compactDocument } from "./compact-document.ts";
import { isUnversionedTwin } from "./operation-id.ts";
import { rolesThatMayCall } from "./tags.ts";
import type { OpenApiDocument } from "../runtime.ts";

/** Whose operations a document describes. */
export type DocumentRole = `agent-${AgentRole}` | "user";

/** The OpenAPI document of one role: what it may call, without the unversioned twins. For agents it is kept short. */
export function buildRoleDocument(endpoints: readonly Endpoint[], addresses: Addresses, role: DocumentRole): OpenApiDocument {
  const isIncluded = role === "user" ? isForUsers : isForAgent(role.slice("agent-".length) as AgentRole);
  const included = endpoints.filter(isIncluded).map((endpoint) => ({ ...endpoint, paths: versionedPaths(endpoint) }));
  const document = buildOpenApiDocument(included, addresses);
  return role === "user" ? document : compactDocument(document, role);
}

type AgentRole = AgentHints["roles"][number];

const isForUsers = ({ spec }: Endpoint): boolean => spec.as.users || !spec.as.agents;

/** Operations that are made for the agent. The others that it may call, people call as well; most have such a counterpart. */
const isForAgent =
  (role: AgentRole) =>
  ({ spec }: Endpoint): boolean =>
    spec.agent?.roles.includes(role) === true && rolesThatMayCall(spec.as.name).includes(role);

const versionedPaths = (endpoint: Endpoint): string[] => endpoint.paths.filter((path) => !isUnversionedTwin(endpoint, path));
