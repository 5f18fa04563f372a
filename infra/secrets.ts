/**
 * Set once per stage with `sst secret set <name> <value>`. Their values are Pulumi secrets: encrypted in the state, masked
 * in every diff, and so is whatever is derived from them.
 */
export const databaseUrl = new sst.Secret("DatabaseUrl");
export const databaseDirectUrl = new sst.Secret("DatabaseDirectUrl");
export const encryptionKey = new sst.Secret("EncryptionKey");
export const tokenPepper = new sst.Secret("TokenPepper");

/** A secret without a value stops the deployment, so the shared token exists only where people sign in with it. */
export const localAuthToken = (process.env.AUTH_MODE ?? "local") === "local" ? new sst.Secret("LocalAuthToken") : null;
