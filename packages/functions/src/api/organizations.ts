import { organizations } from "@board/api/routes/organizations";
import { serve } from "../serve.ts";

export const handler = serve(organizations);
