import type { Endpoint } from "../endpoint.ts";

export const activity: Endpoint[] = [];
