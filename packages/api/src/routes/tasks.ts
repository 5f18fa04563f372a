import type { Endpoint } from "../endpoint.ts";

export const tasks: Endpoint[] = [];
