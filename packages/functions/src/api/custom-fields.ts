import { customFields } from "@board/api/routes/custom-fields";
import { serve } from "../serve.ts";

export const handler = serve(customFields);
