import { createStreamFunction } from "./stream-function.ts";
import { createStreamService } from "./stream-service.ts";

const { STREAM_DOMAIN: domain } = process.env;

/**
 * A container serves the streams if they have a domain, because a function URL cannot have one. Otherwise a function serves them.
 */
export const streamFunction = domain ? null : createStreamFunction();
export const streamService = domain ? createStreamService(domain) : null;

export const streamUrl = domain ? `https://${domain}` : streamFunction!.url;

/** The address for a DNS record of STREAM_DOMAIN that is created by hand. */
export const streamDomainTarget = streamService?.address;
