import { skillPacks } from "@board/api/routes/skill-packs";
import { skills } from "@board/api/routes/skills";
import { createHttpHandler } from "../http-handler.ts";

export const handler = createHttpHandler([...skills, ...skillPacks]);
