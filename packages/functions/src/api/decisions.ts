import { decisions } from "@board/api/routes/decisions";
import { createHttpHandler } from "../http-handler.ts";

export const handler = createHttpHandler(decisions);
