import type { Endpoint } from "../endpoint.ts";

export const skillPacks: Endpoint[] = [];
