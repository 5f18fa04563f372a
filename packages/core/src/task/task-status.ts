import * as z from "zod";
import { TASK_STATUSES } from "../schema/task.sql.ts";

export const TaskStatus = z.enum(TASK_STATUSES);
export type TaskStatus = z.infer<typeof TaskStatus>;
