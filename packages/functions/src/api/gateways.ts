import { gatewaySessions } from "@board/api/routes/gateway-sessions";
import { gateways } from "@board/api/routes/gateways";
import { createHttpHandler } from "../http-handler.ts";

export const handler = createHttpHandler([...gateways, ...gatewaySessions]);
