import { boards } from "@board/api/routes/boards";
import { serve } from "../serve.ts";

export const handler = serve(boards);
