import { taskComments } from "@board/api/routes/task-comments";
import { tasks } from "@board/api/routes/tasks";
import { serve } from "../serve.ts";

export const handler = serve([...tasks, ...taskComments]);
