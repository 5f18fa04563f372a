import { approvals } from "@board/api/routes/approvals";
import { serve } from "../serve.ts";

export const handler = serve(approvals);
