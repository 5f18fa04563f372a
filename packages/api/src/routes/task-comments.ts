import type { Endpoint } from "../endpoint.ts";

export const taskComments: Endpoint[] = [];
