import { gateways } from "@board/api/routes/gateways";
import { serve } from "../serve.ts";

export const handler = serve(gateways);
