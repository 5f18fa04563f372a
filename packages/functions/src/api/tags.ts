import { tags } from "@board/api/routes/tags";
import { createHttpHandler } from "../http-handler.ts";

export const handler = createHttpHandler(tags);
