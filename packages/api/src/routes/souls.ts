import type { Endpoint } from "../endpoint.ts";

export const souls: Endpoint[] = [];
