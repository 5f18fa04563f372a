import { skillPacks } from "@board/api/routes/skill-packs";
import { skills } from "@board/api/routes/skills";
import { serve } from "../serve.ts";

export const handler = serve([...skills, ...skillPacks]);
