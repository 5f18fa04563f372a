import { webhooks } from "@board/api/routes/webhooks";
import { serve } from "../serve.ts";

export const handler = serve(webhooks);
