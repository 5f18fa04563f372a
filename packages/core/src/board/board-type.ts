import * as z from "zod";

export const BoardType = z.enum(["goal", "project", "ops", "general"]);
