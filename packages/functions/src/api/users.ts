import { users } from "@board/api/routes/users";
import { serve } from "../serve.ts";

export const handler = serve(users);
