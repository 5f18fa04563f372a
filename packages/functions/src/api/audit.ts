import { audit } from "@board/api/routes/audit";
import { createHttpHandler } from "../http-handler.ts";

export const handler = createHttpHandler(audit);
