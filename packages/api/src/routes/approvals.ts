import type { Endpoint } from "../endpoint.ts";

export const approvals: Endpoint[] = [];
