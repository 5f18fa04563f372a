import { boards } from "@board/api/routes/boards";
import { createHttpHandler } from "../http-handler.ts";

export const handler = createHttpHandler(boards);
