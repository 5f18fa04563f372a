import { reference } from "@board/api/routes/reference";
import { createHttpHandler } from "../http-handler.ts";

export const handler = createHttpHandler(reference);
