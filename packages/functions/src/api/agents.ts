import { agents } from "@board/api/routes/agents";
import { serve } from "../serve.ts";

export const handler = serve(agents);
