import type { Endpoint } from "../endpoint.ts";

export const metrics: Endpoint[] = [];
