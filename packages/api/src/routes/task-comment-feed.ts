import type { Endpoint } from "../endpoint.ts";

export const taskCommentFeed: Endpoint[] = [];
