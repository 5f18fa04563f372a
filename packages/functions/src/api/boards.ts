import { boards } from "@board/api/routes/boards";
import { boardFollows } from "@board/api/routes/follows";
import { savedViews } from "@board/api/routes/saved-views";
import { createHttpHandler } from "../http-handler.ts";

export const handler = createHttpHandler([...boards, ...boardFollows, ...savedViews]);
