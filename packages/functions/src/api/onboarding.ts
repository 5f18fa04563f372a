import { onboarding } from "@board/api/routes/onboarding";
import { createHttpHandler } from "../http-handler.ts";

export const handler = createHttpHandler(onboarding);
