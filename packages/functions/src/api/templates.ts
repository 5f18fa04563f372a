import { templateSync } from "@board/api/routes/template-sync";
import { createHttpHandler } from "../http-handler.ts";

export const handler = createHttpHandler(templateSync);
