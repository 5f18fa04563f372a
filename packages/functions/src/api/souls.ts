import { souls } from "@board/api/routes/souls";
import { createHttpHandler } from "../http-handler.ts";

export const handler = createHttpHandler(souls);
