import { boardGroups } from "@board/api/routes/board-groups";
import { serve } from "../serve.ts";

export const handler = serve(boardGroups);
