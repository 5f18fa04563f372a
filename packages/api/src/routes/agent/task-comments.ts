import type { Endpoint } from "../../endpoint.ts";

export const agentTaskComments: Endpoint[] = [];
