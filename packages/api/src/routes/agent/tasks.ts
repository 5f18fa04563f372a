import type { Endpoint } from "../../endpoint.ts";

export const agentTasks: Endpoint[] = [];
