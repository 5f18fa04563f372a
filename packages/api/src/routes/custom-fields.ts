import type { Endpoint } from "../endpoint.ts";

export const customFields: Endpoint[] = [];
