import { runStepStream } from "@board/api/routes/run-step-stream";
import { runs } from "@board/api/routes/runs";
import { createHttpHandler } from "../http-handler.ts";

export const handler = createHttpHandler([...runs, ...runStepStream]);
