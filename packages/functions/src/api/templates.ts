import { gatewaySync } from "@board/api/routes/gateway-sync";
import { serve } from "../serve.ts";

export const handler = serve(gatewaySync);
