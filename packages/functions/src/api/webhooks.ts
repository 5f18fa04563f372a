import { ingest } from "@board/api/routes/ingest";
import { webhooks } from "@board/api/routes/webhooks";
import { serve } from "../serve.ts";

/** With a slash behind it, a webhook's address is none of the public door's routes: the post comes here. */
export const handler = serve([...webhooks, ...ingest]);
