import { boardGroups } from "@board/api/routes/board-groups";
import { createHttpHandler } from "../http-handler.ts";

export const handler = createHttpHandler(boardGroups);
