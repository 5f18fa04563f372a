import { createStreamFunction } from "./stream-function.ts";
import { createStreamService } from "./stream-service.ts";

const { STREAM_DOMAIN: domain } = process.env;

/** Streams are served by a container if they have a domain, which a function URL cannot have, else by a function. */
export const streamFunction = domain ? null : createStreamFunction();
export const streamService = domain ? createStreamService(domain) : null;

export const streamUrl = domain ? `https://${domain}` : streamFunction!.url;

/** The target for a DNS record of STREAM_DOMAIN that is created by hand. */
export const streamDomainTarget = streamService?.address;
