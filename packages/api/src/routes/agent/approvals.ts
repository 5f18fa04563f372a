import type { Endpoint } from "../../endpoint.ts";

export const agentApprovals: Endpoint[] = [];
