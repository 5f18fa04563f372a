// Preloaded into a server: Neon's driver connects to the proxy NEON_PROXY instead of Neon's edge.
import { neonConfig } from "@neondatabase/serverless";

neonConfig.wsProxy = () => process.env.NEON_PROXY;
neonConfig.useSecureWebSocket = false;
neonConfig.pipelineTLS = false;
