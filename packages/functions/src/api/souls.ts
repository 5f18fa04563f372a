import { souls } from "@board/api/routes/souls";
import { serve } from "../serve.ts";

export const handler = serve(souls);
