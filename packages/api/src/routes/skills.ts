import type { Endpoint } from "../endpoint.ts";

export const skills: Endpoint[] = [];
