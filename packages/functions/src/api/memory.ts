import { groupMemory } from "@board/api/routes/group-memory";
import { memoryStreams } from "@board/api/routes/memory-streams";
import { memory } from "@board/api/routes/memory";
import { createHttpHandler } from "../http-handler.ts";

export const handler = createHttpHandler([...memory, ...groupMemory, ...memoryStreams]);
