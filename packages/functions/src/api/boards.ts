import { boards } from "@board/api/routes/boards";
import { boardFollows } from "@board/api/routes/follows";
import { createHttpHandler } from "../http-handler.ts";

export const handler = createHttpHandler([...boards, ...boardFollows]);
