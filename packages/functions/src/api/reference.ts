import { reference } from "@board/api/routes/reference";
import { serve } from "../serve.ts";

export const handler = serve(reference);
