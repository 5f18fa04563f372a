import type { AddressRules } from "../dns/address.ts";
import type { Settings } from "../config/settings.ts";

const LOOPBACK = ["localhost", "127.0.0.0/8", "::1"];

/**
 * Derives the rules for allowed receivers from the settings. The allowed hosts of gateways are not included: every tenant may
 * create a subscription, and a test message would show the answer of such a host.
 */
export const toReceiverRules = ({
  subscription_allowed_hosts,
  loopback_receivers_allowed,
}: Pick<Settings, "subscription_allowed_hosts" | "loopback_receivers_allowed">): AddressRules => ({
  allowed_hosts: [...subscription_allowed_hosts, ...(loopback_receivers_allowed ? LOOPBACK : [])],
  private_addresses_allowed: false,
});
