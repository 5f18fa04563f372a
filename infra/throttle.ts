/** What API Gateway accepts: requests per second, and a burst of two seconds. */
export interface Throttle {
  rate: number;
  burst: number;
}

/** AWS's limit for all APIs of an account in a region, unless AWS has raised it. */
const MAX_RATE = 10_000;

/** Returns the limits of a stage. Each route of public webhooks gets half of the limit for all routes together. */
export function throttles(isProduction: boolean): { throttle: Throttle; webhook_throttle: Throttle } {
  const rate = Number(process.env.API_REQUESTS_PER_SECOND || (isProduction ? 500 : 50));
  if (!Number.isSafeInteger(rate) || rate < 2 || rate > MAX_RATE)
    throw new Error(`API_REQUESTS_PER_SECOND must be a whole number from 2 to ${MAX_RATE}`);
  return { throttle: toThrottle(rate), webhook_throttle: toThrottle(Math.floor(rate / 2)) };
}

const toThrottle = (rate: number): Throttle => ({ rate, burst: 2 * rate });
