import { activity } from "@board/api/routes/activity";
import { serve } from "../serve.ts";

export const handler = serve(activity);
