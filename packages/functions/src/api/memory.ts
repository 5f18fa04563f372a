import { groupMemory } from "@board/api/routes/group-memory";
import { memory } from "@board/api/routes/memory";
import { createHttpHandler } from "../http-handler.ts";

export const handler = createHttpHandler([...memory, ...groupMemory]);
