import { changes } from "@board/api/routes/changes";
import { changesStream } from "@board/api/routes/changes-stream";
import { createHttpHandler } from "../http-handler.ts";

export const handler = createHttpHandler([...changes, ...changesStream]);
