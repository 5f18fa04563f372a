import { gatewaySessions } from "@board/api/routes/gateway-sessions";
import { gateways } from "@board/api/routes/gateways";
import { serve } from "../serve.ts";

export const handler = serve([...gateways, ...gatewaySessions]);
