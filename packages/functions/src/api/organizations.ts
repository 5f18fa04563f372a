import { organizations } from "@board/api/routes/organizations";
import { createHttpHandler } from "../http-handler.ts";

export const handler = createHttpHandler(organizations);
