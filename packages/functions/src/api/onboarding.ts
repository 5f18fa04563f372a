import { onboarding } from "@board/api/routes/onboarding";
import { serve } from "../serve.ts";

export const handler = serve(onboarding);
