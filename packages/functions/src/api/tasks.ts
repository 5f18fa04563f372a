import { taskFollows } from "@board/api/routes/follows";
import { taskComments } from "@board/api/routes/task-comments";
import { taskStream } from "@board/api/routes/task-stream";
import { tasks } from "@board/api/routes/tasks";
import { createHttpHandler } from "../http-handler.ts";

export const handler = createHttpHandler([...tasks, ...taskFollows, ...taskComments, ...taskStream]);
