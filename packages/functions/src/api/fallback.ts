import { endpoints } from "@board/api/groups";
import { createHttpHandler } from "../http-handler.ts";

export const handler = createHttpHandler(endpoints);
