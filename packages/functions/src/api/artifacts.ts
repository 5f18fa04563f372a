import { artifacts } from "@board/api/routes/artifacts";
import { createHttpHandler } from "../http-handler.ts";

export const handler = createHttpHandler(artifacts);
