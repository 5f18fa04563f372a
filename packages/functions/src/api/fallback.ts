import { endpoints } from "@board/api/groups";
import { serve } from "../serve.ts";

export const handler = serve(endpoints);
