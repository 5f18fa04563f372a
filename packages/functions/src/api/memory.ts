import { groupMemory } from "@board/api/routes/group-memory";
import { memory } from "@board/api/routes/memory";
import { serve } from "../serve.ts";

export const handler = serve([...memory, ...groupMemory]);
