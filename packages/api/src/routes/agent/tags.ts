import type { Endpoint } from "../../endpoint.ts";

export const agentTags: Endpoint[] = [];
