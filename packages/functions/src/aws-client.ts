/**
 * Options for every AWS client of this service. Without `throwOnRequestTimeout` the SDK only logs a warning when `request_ms` is
 * exceeded, and continues to wait.
 */
export const awsClientOptions = (limits: { connect_ms: number; request_ms: number; attempts: number }) => ({
  maxAttempts: limits.attempts,
  requestHandler: { connectionTimeout: limits.connect_ms, requestTimeout: limits.request_ms, throwOnRequestTimeout: true },
});
