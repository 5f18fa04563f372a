import { customFields } from "@board/api/routes/custom-fields";
import { createHttpHandler } from "../http-handler.ts";

export const handler = createHttpHandler(customFields);
