import { metrics } from "@board/api/routes/metrics";
import { serve } from "../serve.ts";

export const handler = serve(metrics);
