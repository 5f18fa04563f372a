/** Concurrent executions that Lambda allows the account in its region. Most accounts have 1,000; new accounts often have 10. */
export const accountConcurrency = Number(process.env.ACCOUNT_CONCURRENCY || 1_000);

if (!Number.isSafeInteger(accountConcurrency) || accountConcurrency < 1)
  throw new Error("ACCOUNT_CONCURRENCY must be a whole number from 1");
