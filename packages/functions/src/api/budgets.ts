import { budgets } from "@board/api/routes/budgets";
import { createHttpHandler } from "../http-handler.ts";

export const handler = createHttpHandler(budgets);
