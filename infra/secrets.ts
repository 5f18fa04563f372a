/**
 * The secrets of a stage. Each is set once with `sst secret set <name> <value>`. Secrets and all values derived from them are
 * encrypted in the state and masked in every diff.
 */

export const databaseUrl = new sst.Secret("DatabaseUrl");
export const databaseDirectUrl = new sst.Secret("DatabaseDirectUrl");
export const encryptionKey = new sst.Secret("EncryptionKey");
export const tokenPepper = new sst.Secret("TokenPepper");

/** Exists only with MAIL_FROM, because a secret without a value stops the deployment. */
export const smtpUrl = process.env.MAIL_FROM ? new sst.Secret("SmtpUrl") : null;

/** Each exists only with the id of its client, because a secret without a value stops the deployment. */
export const githubClientSecret = process.env.GITHUB_CLIENT_ID ? new sst.Secret("GithubClientSecret") : null;
export const googleClientSecret = process.env.GOOGLE_CLIENT_ID ? new sst.Secret("GoogleClientSecret") : null;

/** Exists only with AUTH_MODE=local, because a secret without a value stops the deployment. */
export const localAuthToken = (process.env.AUTH_MODE ?? "local") === "local" ? new sst.Secret("LocalAuthToken") : null;
