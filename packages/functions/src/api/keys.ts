import { keys } from "@board/api/routes/keys";
import { createHttpHandler } from "../http-handler.ts";

export const handler = createHttpHandler(keys);
