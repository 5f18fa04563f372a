import { tags } from "@board/api/routes/tags";
import { serve } from "../serve.ts";

export const handler = serve(tags);
