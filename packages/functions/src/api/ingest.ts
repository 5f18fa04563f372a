import { ingest } from "@board/api/routes/ingest";
import { serve } from "../serve.ts";

export const handler = serve(ingest);
