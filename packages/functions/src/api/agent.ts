import { agent } from "@board/api/routes/agent/all";
import { serve } from "../serve.ts";

export const handler = serve(agent);
